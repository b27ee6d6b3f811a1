"""What the tests of queues share.

``Sites`` are simulated brokers, and a record of what every consumer was handed.  ``QueueNetwork``
are the queue services of a few brokers without overlay and simulator: messages and disks answer
when the test says so, and everything that was said is recorded.  ``make_…`` build the parts of one
queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.core.machine import (
    Effect,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.randomness import random_stream
from penstock.core.tokens import Tokens
from penstock.overlay.node import node_config
from penstock.papers.store_and_forward.workload import RatedConsumer, RatedProducer
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import Deliver, RowsEntry
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.sim.link import LinkModel
from penstock.sim.world import EPOCH, SimWorld
from penstock.store.faulty import MemoryStore

START: Instant = 1000 * SECOND
STEPS = 10_000
"""No test exchanges this many messages: one that does would never end."""


class Sites:
    """A home broker with an alias queue, and sites with a work queue and a consumer each."""

    def __init__(
        self,
        seed: int,
        *,
        sites: tuple[str, ...] = ("east", "west"),
        parameters: QueueParameters | None = None,
        rate: Callable[[Instant], float] = lambda now: 600.0,
        **alias: object,
    ) -> None:
        self.world = SimWorld(seed, checked=True, digested=True)
        self.sites = sites
        self.seen: dict[int, list[tuple[str, bool]]] = {}
        self.consumers: dict[str, RatedConsumer] = {}
        self.producers: list[RatedProducer] = []
        used = parameters or QueueParameters()
        destinations = tuple(f"work@{site}" for site in sites)
        config = AliasConfig("orders", destinations, **alias)  # type: ignore[arg-type]
        neighbours = dict.fromkeys(sites, 1)
        home = node_config(
            "home", neighbours, aliases=(config,), queue_parameters=used, trace_interval_ns=0
        )
        self.world.add_broker(home)
        for site in sites:
            self.world.add_broker(
                node_config(
                    site,
                    {"home": 1},
                    queues=(QueueConfig("work", max_deliveries=1000),),
                    queue_parameters=used,
                    trace_interval_ns=0,
                )
            )
            self.world.add_link("home", site, LinkModel(latency_ns=MILLISECOND))
            self.add_consumer(f"worker-{site}", site, rate)

    def add_consumer(self, name: str, site: str, rate: Callable[[Instant], float]) -> None:
        """One more consumer."""

        def done(delivery: Deliver) -> None:
            tried = {position for position, _ in delivery.attempts}
            rows = delivery.frame.batch.attribute_rows()
            for position, attributes in zip(delivery.frame.ticks, rows, strict=True):
                again = delivery.recovered or position in tried
                self.seen.setdefault(int(attributes["n"]), []).append((site, again))

        consumer = RatedConsumer(name, "work", rate, prefetch=100, on_done=done)
        self.consumers[name] = consumer
        self.world.add_client(name, consumer, site)

    def produce(self, total: int, *, rate_msgs_per_s: float = 1000.0, run: int = 20) -> None:
        """A producer of numbered messages."""
        name = f"producer-{len(self.producers)}"
        producer = RatedProducer(
            name,
            "orders",
            numbered,
            random_stream(self.world.seed, name),
            rate_msgs_per_s=rate_msgs_per_s,
            run=run,
            total=total,
            start_at=EPOCH + 3 * SECOND,
            jitter_ns=5 * MILLISECOND,
        )
        self.producers.append(producer)
        self.world.add_client(name, producer, "home")

    def finish(self, total: int, *, within_s: int = 300) -> None:
        """Let time pass until everything was consumed."""
        for _ in range(within_s):
            if len(self.seen) == total and self.producers[0].confirmed == total:
                return
            self.world.run_for(SECOND)

    def judge(self, total: int) -> None:
        """Nothing lost; every message in one queue only; what comes twice says so; nothing left."""
        self.judge_messages(total)
        self.world.run_for(10 * SECOND)
        for name, broker in self.world.brokers.items():
            assert broker.node is not None
            for queue in broker.node.services["queues"].queues.values():
                assert queue.entries.rows == queue.prepared.rows == 0, f"left at {name}"
            for alias in broker.node.services["queues"].aliases.values():
                assert alias.entries.rows == 0, f"left at {name}"
                assert all(each.is_done for each in alias.destinations)

    def judge_messages(self, total: int) -> None:
        """What the consumers saw."""
        lost = [n for n in range(total) if n not in self.seen]
        assert not lost, f"seed {self.world.seed}: {len(lost)} lost, first {lost[:5]}"
        for n, times in self.seen.items():
            queues = {site for site, _ in times}
            assert len(queues) == 1, f"seed {self.world.seed}: message {n} in queues {queues}"
            unmarked = sum(not again for _, again in times)
            assert unmarked <= 1, f"seed {self.world.seed}: message {n} twice, unmarked"


def numbered(first: int, count: int) -> Batch:
    """Messages that know their number."""
    return Batch.from_rows([({"n": first + each}, b"x" * 100) for each in range(count)])


class QueueNetwork:
    """Queue services that are all neighbours, their disks, and everything that was said."""

    def __init__(
        self,
        brokers: dict[str, tuple[tuple[QueueConfig, ...], tuple[AliasConfig, ...]]],
        parameters: QueueParameters | None = None,
    ) -> None:
        """Start all brokers and let everything settle."""
        self._configured = brokers
        self._parameters = parameters or QueueParameters()
        self.now = START
        self.stores = {name: MemoryStore[Any](lambda entry: entry.frame.weight) for name in brokers}
        self.brokers: dict[str, QueueBroker] = {}
        self.spoken: list[tuple[Instant, str, str, Any]] = []
        self.under_way: deque[tuple[str, str, Any]] = deque()
        self.lose: Callable[[str, str, Any], bool] = lambda source, target, message: False
        self.cut: set[frozenset[str]] = set()
        self.watch: Callable[[str, Any], None] = lambda name, cause: None
        """Called after every fact with the broker and the fact."""
        for name in brokers:
            self.start(name)
        self.settle()

    # -- brokers ----------------------------------------------------------------------------

    def start(self, name: str) -> None:
        store = self.stores[name]
        bounds = {log: store.bounds(log) for log in store.log_names()}
        logs = {
            log: (each.first_low, each.end_high, each.stored_bytes) for log, each in bounds.items()
        }
        self.brokers[name] = QueueBroker(
            name,
            *self._configured[name],
            self._parameters,
            Tokens(),
            saved=store.load_state(),
            logs=logs,
            now=self.now,
        )
        self._carry_out(name, "start", self.brokers[name].start())
        self.routes(name)

    def routes(self, name: str) -> None:
        """Tell a broker which others it can reach."""
        others = [each for each in self._configured if each != name]
        hops = {each: each for each in others if frozenset({name, each}) not in self.cut}
        self._carry_out(name, "routes", self.brokers[name].routes_changed({}, hops, self.now))

    def set_reachable(self, one: str, other: str, *, reachable: bool) -> None:
        """Cut or mend the link between two brokers."""
        self.cut.discard(frozenset({one, other}))
        if not reachable:
            self.cut.add(frozenset({one, other}))
        self.routes(one)
        self.routes(other)

    def crash(self, name: str, seed: int = 0) -> None:
        """A broker stops, loses what its disk had not synced, and starts again."""
        self.stores[name].crash(Random(seed))
        self.start(name)

    # -- facts ------------------------------------------------------------------------------

    def client(self, session: str, broker: str, message: Any, *, settle: bool = True) -> None:
        """A client sends a message."""
        self.spoken.append((self.now, session, broker, message))
        self._receive(session, broker, message)
        if settle:
            self.settle()

    def _receive(self, link: str, broker: str, message: Any) -> None:
        effects = self.brokers[broker].received(link, message, self.now)
        self._carry_out(broker, message, effects)

    def deliver(self) -> None:
        """Deliver the oldest message between brokers."""
        source, target, message = self.under_way.popleft()
        self._receive(source, target, message)

    def sync(self, name: str) -> None:
        """The disk of a broker answers all orders."""
        commit = self.stores[name].sync()
        broker = self.brokers[name]
        for token in commit.durable:
            self._carry_out(name, "durable", broker.resolved(token, None, self.now))
        for each in commit.failed:
            self.stores[name].resume_after(each)
            failure = PersistFailed(each.token, each.reason, each.uncertain)
            self._carry_out(name, failure, broker.resolved(each.token, failure, self.now))

    def settle(self) -> None:
        """Deliver everything and let the disks answer, until there is nothing left."""
        for _ in range(STEPS):
            busy = [name for name, store in self.stores.items() if store.unsynced_orders]
            if busy:
                self.sync(busy[0])
            elif self.under_way:
                self.deliver()
            else:
                return
        raise AssertionError("the brokers do not come to rest")

    def advance(self, duration_ns: int) -> None:
        """Let time pass, deadline by deadline."""
        end = self.now + duration_ns
        for _ in range(STEPS):
            due = {name: broker.next_deadline() for name, broker in self.brokers.items()}
            name = min(due, key=lambda each: due[each] or end)
            if (due[name] or end) >= end:
                self.now = end
                return
            self.now = max(self.now, due[name] or end)
            self._carry_out(name, "deadline", self.brokers[name].deadline(self.now))
            self.settle()
        raise AssertionError("the brokers have a deadline at every instant")

    def tick(self, duration_ns: int) -> None:
        """Let time pass at once: each broker that is due is told so; nothing is delivered."""
        self.now += duration_ns
        for name, broker in self.brokers.items():
            at = broker.next_deadline()
            if at is not None and at <= self.now:
                self._carry_out(name, "deadline", broker.deadline(self.now))

    def _carry_out(self, name: str, cause: Any, effects: list[Effect]) -> None:
        self.brokers[name].check_invariants()
        self.watch(name, cause)
        store = self.stores[name]
        for effect in effects:
            match effect:
                case Send(link, message):
                    self._send(name, link, message)
                case Persist(token, log, entry):
                    self.spoken.append((self.now, name, f"disk ({log})", entry))
                    store.append(token, log, entry.frame.low, entry.frame.high, entry)
                case PersistState(token, values):
                    store.set_state(token, values)
                case ReadLog(token, log, low, high, limit):
                    found = store.read(log, low, high, limit)
                    frames = tuple(record.data for record in found.records)
                    fact = LogRead(token, frames, found.complete_to, lost=found.lost)
                    self._carry_out(name, fact, self.brokers[name].log_read(fact, self.now))
                case TrimLog(log, below):
                    store.trim(log, below)

    def _send(self, name: str, link: str, message: Any) -> None:
        lost = link in self.brokers and (
            frozenset({name, link}) in self.cut or self.lose(name, link, message)
        )
        self.spoken.append((self.now, name, f"{link} (lost)" if lost else link, message))
        if link in self.brokers and not lost:
            self.under_way.append((name, link, message))

    def said(self, kind: type) -> list[Any]:
        """All messages of a kind so far."""
        return [message for _, _, _, message in self.spoken if isinstance(message, kind)]


# -- the parts of one queue ------------------------------------------------------------------------


def batch_of(count: int, first: int = 0, payload_bytes: int = 10) -> Batch:
    """Messages numbered in their attribute ``n``."""
    return Batch.from_rows([({"n": first + each}, bytes(payload_bytes)) for each in range(count)])


def context_of(**parameters: Any) -> QueueContext:
    """The context of a broker ``b`` that starts with an empty disk."""
    return QueueContext("b", QueueParameters(**parameters), Tokens(), {}, {}, START)


def journal_of(**parameters: Any) -> Journal:
    """A journal ``queue/q`` that has nothing to recover."""
    journal = Journal("queue/q", context_of(**parameters))
    journal.start([])
    return journal


def rows_of(low: int, count: int, *, origin: str = "producer/p", **fields: Any) -> RowsEntry:
    """Rows of a journal from position ``low`` on; the first has the number ``low``."""
    frame = Frame(low, low + count, range(low, low + count), batch_of(count, low))
    fields = {"first_sequence": low, "priority": 4, "expires_at": 0, **fields}
    return RowsEntry(frame, origin, **fields)


@pytest.fixture
def make_batch() -> Callable[..., Batch]:
    return batch_of


@pytest.fixture
def make_context() -> Callable[..., QueueContext]:
    return context_of


@pytest.fixture
def make_journal() -> Callable[..., Journal]:
    return journal_of


@pytest.fixture
def make_rows() -> Callable[..., RowsEntry]:
    return rows_of


@pytest.fixture
def queue_network() -> type[QueueNetwork]:
    """The class: a test makes its own."""
    return QueueNetwork


@pytest.fixture
def sites() -> type[Sites]:
    """The class: a test makes its own."""
    return Sites

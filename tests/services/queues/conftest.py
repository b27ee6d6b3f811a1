"""What the tests of queues share.

``Sites`` are simulated brokers with the clients of the laboratory, whose histories are judged.
``QueueNetwork`` are the queue services of a few brokers without overlay and simulator: messages and
disks answer when the test says so, and everything that was said is recorded.  ``make_…`` build the
parts of one queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND, Instant
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
from penstock.core.tokens import Tokens
from penstock.lab.scenario.curve import CurvePoint
from penstock.lab.scenario.model import Broker, Fault, Link, Scenario
from penstock.lab.workloads.queues.tables import QueueConsumer, QueueProducer
from penstock.lab.worlds.sim import SimRun
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import RowsEntry
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.store.faulty import MemoryStore

START: Instant = 1000 * SECOND
STEPS = 10_000
"""No test exchanges this many messages: one that does would never end."""


class Sites:
    """A home broker with an alias queue, and sites with a work queue and a consumer each.

    Brokers find each other in the first three seconds; then ``total`` messages are produced.
    """

    def __init__(
        self, seed: int, total: int, *, sites: tuple[str, ...] = ("east", "west"), **alias: Any
    ) -> None:
        self.sites = sites
        self.total = total
        alias = {"destinations": [f"work@{site}" for site in sites], **alias}
        queues = {"queues": {"work": {"max_deliveries": 1000}}}
        consumers = tuple(_consumer(f"worker-{site}", site, 600.0) for site in sites)
        producer = _producer("producer", "home", "orders", total, 1000.0, batch_rows=20)
        scenario = Scenario(
            name="sites",
            duration_s=3600,
            brokers=(
                Broker(name="home", keys={"aliases": {"orders": alias}}),
                *(Broker(name=site, keys=queues) for site in sites),
            ),
            links=tuple(Link(between=("home", site)) for site in sites),
            clients=(*consumers, producer),
        )
        run = SimRun(scenario, seed, checked=True, digested=True)
        self.world = run.world
        self.history = run.histories["queues"]
        self.produced = self.history.producers["producer"]
        self.consumers = [each.name for each in consumers]
        run.open()
        for client in scenario.clients:
            run.start_client(client, scenario.duration_s)

    def finish(self, *, within_s: int = 300) -> None:
        """Let time pass until everything that was confirmed is consumed."""
        for _ in range(within_s):
            sent = len(self.produced) == self.total and not self.history.pending
            if sent and self.history.complete():
                return
            self.world.run_for(SECOND)

    def judge(self) -> None:
        """No rule is broken, everything was sent, and nothing is left at a broker."""
        judgement = self.history.judge()
        assert not judgement.violations, f"seed {self.world.seed}: {judgement}"
        assert len(self.produced) == self.total
        assert self.history.complete()
        self.world.run_for(10 * SECOND)
        for name, broker in self.world.brokers.items():
            assert broker.node is not None
            for queue in broker.node.services["queues"].queues.values():
                assert queue.entries.rows == queue.prepared.rows == 0, f"left at {name}"
            for alias in broker.node.services["queues"].aliases.values():
                assert alias.entries.rows == 0, f"left at {name}"
                assert all(each.is_done for each in alias.destinations)

    def count(self, metric: str) -> int:
        """How often something happened, at all clients."""
        return sum(len(each.at) for each in self.history.events(metric).values())


def _producer(
    name: str, broker: str, queue: str, messages: int, rate_msgs_per_s: float, **more: Any
) -> QueueProducer:
    rate = (CurvePoint(0, 0), CurvePoint(3, 0), CurvePoint(3.001, rate_msgs_per_s))
    return QueueProducer(
        service="queues",
        role="producer",
        name=name,
        broker=broker,
        queue=queue,
        messages=messages,
        rate_msgs_per_s=rate,
        jitter_ms=5,
        **more,
    )


def _consumer(name: str, broker: str, rate_msgs_per_s: float) -> QueueConsumer:
    return QueueConsumer(
        service="queues",
        role="consumer",
        name=name,
        broker=broker,
        queue="work",
        rate_msgs_per_s=rate_msgs_per_s,
        prefetch=100,
    )


def chain_of_brokers(producers: dict[str, str], messages: int, faults: Iterable[Fault]) -> Scenario:
    """Brokers home, middle and far in a row; producers at home send to queues, by name.

    The only queue is at far, with a consumer; the alias queue ``orders`` at home leads to it.
    """
    alias = {"orders": {"destinations": ["work@far"]}}
    return Scenario(
        name="chain",
        duration_s=10,
        brokers=(
            Broker(name="home", keys={"aliases": alias}),
            Broker(name="middle"),
            Broker(name="far", keys={"queues": {"work": {}}}),
        ),
        links=(
            Link(between=("home", "middle"), latency_ms=5),
            Link(between=("middle", "far"), latency_ms=5),
        ),
        clients=(
            _consumer("worker", "far", 5000.0),
            *(
                _producer(name, "home", queue, messages, 1000.0, batch_rows=10)
                for name, queue in producers.items()
            ),
        ),
        faults=tuple(faults),
    )


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


@pytest.fixture
def broker_chain() -> Callable[..., Scenario]:
    return chain_of_brokers

"""Rows that an alias queue hands over to queues of its own broker, whatever crashes or fills up."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.content.rows.batch import Batch
from penstock.core.clock import SECOND, Instant
from penstock.core.machine import (
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.tokens import Tokens
from penstock.services.queues.broker import QueueBroker
from penstock.services.queues.messages import (
    DecisionEntry,
    Deliver,
    Receive,
    RowsEntry,
    SendReceipt,
    SendRefused,
    SendToQueue,
    Settle,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig, QueueParameters
from penstock.store.faulty import MemoryStore

PARAMETERS = QueueParameters(pass_again_ns=1)
QUEUES = ("work", "more")


class Broker:
    """One broker with an alias queue and its destinations, a producer, and prompt consumers."""

    def __init__(self, destinations: tuple[str, ...] = ("work@one",), **queue: Any) -> None:
        self.destinations = destinations
        self.queue = queue
        self.now: Instant = 1000 * SECOND
        self.store = MemoryStore[Any](lambda entry: entry.frame.weight)
        self.written: list[Any] = []
        self.places: dict[int, set[tuple[str, int]]] = {}
        self.confirmed: set[int] = set()
        self.refusals: list[str] = []
        self.sent = 0
        self.consuming = True
        self.start()

    def start(self) -> None:
        logs = {}
        for log in self.store.log_names():
            bounds = self.store.bounds(log)
            logs[log] = (bounds.first_low, bounds.end_high, bounds.stored_bytes)
        self.broker = QueueBroker(
            "one",
            tuple(QueueConfig(name, dead_letter_queue="", **self.queue) for name in QUEUES),
            (AliasConfig("orders", self.destinations),),
            PARAMETERS,
            Tokens(),
            saved=self.store.load_state(),
            logs=logs,
            now=self.now,
        )
        self.unsettled: list[tuple[str, Settle]] = []
        self.settlement = 0
        self.carry_out(self.broker.start())
        self.carry_out(self.broker.routes_changed({}, {}, self.now))
        for name in QUEUES:
            credit = 1_000_000 if self.consuming else 0
            self.say(Receive(name, name, credit=credit), f"consumer/{name}")

    def say(self, message: Any, session: str) -> None:
        self.carry_out(self.broker.received(session, message, self.now))

    def carry_out(self, effects: list[Any]) -> None:
        for effect in effects:
            match effect:
                case Send(session, Deliver(consumer, frame)):
                    self.delivered(session, consumer, frame)
                case Send(_, SendReceipt(first_sequence=first, count=count)):
                    self.confirmed.update(range(first, first + count))
                case Send(_, SendRefused(reason=reason)):
                    self.refusals.append(reason)
                case Persist(token, log, entry):
                    self.written.append((log, entry))
                    self.store.append(token, log, entry.frame.low, entry.frame.high, entry)
                case PersistState(token, values):
                    self.store.set_state(token, values)
                case ReadLog(token, log, low, high, limit):
                    found = self.store.read(log, low, high, limit)
                    frames = tuple(record.data for record in found.records)
                    fact = LogRead(token, frames, found.complete_to)
                    self.carry_out(self.broker.log_read(fact, self.now))
                case TrimLog(log, below):
                    self.store.trim(log, below)
        self.broker.check_invariants()

    def delivered(self, session: str, queue: str, frame: Any) -> None:
        for position, row in zip(frame.ticks, frame.batch.attribute_rows(), strict=True):
            self.places.setdefault(int(row["n"]), set()).add((queue, int(position)))
        self.settlement += 1
        runs = tuple((int(each), int(each) + 1) for each in frame.ticks)
        self.unsettled.append((session, Settle(queue, self.settlement, runs)))

    def settle(self) -> None:
        """Consumers acknowledge what they have."""
        unsettled, self.unsettled = self.unsettled, []
        for session, message in unsettled:
            self.say(message, session)

    def send(self, count: int, *, first: int | None = None) -> None:
        first = self.sent if first is None else first
        rows = [({"n": first + each}, b"x" * 10) for each in range(count)]
        self.sent = max(self.sent, first + count)
        self.say(SendToQueue("p", "orders", first, Batch.from_rows(rows)), "client")

    def send_again(self) -> None:
        """Everything without a receipt, one by one, as a producer does that reconnects."""
        for number in [each for each in range(self.sent) if each not in self.confirmed]:
            self.send(1, first=number)

    def sync(self) -> None:
        while self.store.unsynced_orders:
            commit = self.store.sync()
            for token in commit.durable:
                self.carry_out(self.broker.resolved(token, None, self.now))
            for failure in commit.failed:
                self.store.resume_after(failure)
                answer = self.broker.resolved(
                    failure.token,
                    PersistFailed(failure.token, failure.reason, failure.uncertain),
                    self.now,
                )
                self.carry_out(answer)

    def pass_time(self, seconds: int = 2) -> None:
        self.now += seconds * SECOND
        deadline = self.broker.next_deadline()
        if deadline is not None and deadline <= self.now:
            self.carry_out(self.broker.deadline(self.now))

    def crash(self, seed: int = 0) -> None:
        self.store.crash(Random(seed))
        self.start()

    def settle_down(self) -> None:
        self.store.full = False
        for _ in range(8):
            self.settle()
            self.sync()
            self.pass_time()
        self.settle()
        self.sync()

    def entries(self, log: str, kind: type) -> list[Any]:
        return [entry for name, entry in self.written if name == log and isinstance(entry, kind)]


def ready() -> Broker:
    """A broker whose alias queue has its positions."""
    broker = Broker()
    broker.send(1)
    broker.settle_down()
    broker.written.clear()
    return broker


def test_rows_are_written_once_and_nothing_beside_them() -> None:
    broker = ready()
    broker.send(10)
    assert broker.confirmed == {0}, "no receipt before the fsync"
    assert not broker.places.keys() - {0}, "no delivery before the fsync"
    broker.sync()
    assert broker.confirmed == set(range(11)) == set(broker.places)
    (rows,) = broker.entries("queue/work", RowsEntry)
    assert len(rows.frame) == 10
    assert not rows.in_doubt
    assert not broker.entries("alias/orders", RowsEntry)
    assert not broker.entries("alias/orders", DecisionEntry)


def test_a_crash_before_the_fsync_leaves_nothing_and_the_producer_sends_again() -> None:
    broker = ready()
    broker.send(5)
    broker.store.crash(Random(1))
    broker.start()
    broker.settle_down()
    broker.send_again()
    broker.settle_down()
    assert broker.confirmed == set(range(6))
    assert all(len(places) == 1 for places in broker.places.values())


@pytest.mark.parametrize("settled", [False, True])
def test_a_repeat_is_known_after_a_crash(settled: bool) -> None:
    """The queue's journal is all that names the producer's numbers, even of settled rows."""
    broker = ready()
    broker.send(5)
    broker.sync()
    if settled:
        broker.settle()
        broker.sync()
    broker.crash()
    broker.confirmed.clear()
    broker.send_again()
    broker.settle_down()
    assert broker.confirmed == set(range(6))
    assert all(len(places) == 1 for places in broker.places.values())


def test_entries_are_kept_until_the_alias_queue_has_saved_their_numbers() -> None:
    broker = ready()
    queue = broker.broker.queues["work"]
    broker.send(5)
    broker.sync()
    broker.settle()
    broker.sync()
    kept = queue.retained.lowest
    assert kept is not None
    assert queue.entries.rows == 0
    broker.pass_time()
    assert broker.store.bounds("queue/work").first_low <= kept
    broker.settle_down()
    assert queue.retained.lowest is None
    broker.crash()
    broker.confirmed.clear()
    broker.send_again()
    broker.settle_down()
    assert broker.confirmed == set(range(6))
    assert all(len(places) == 1 for places in broker.places.values())


def test_rows_of_an_alias_queue_that_is_no_more_hold_nothing() -> None:
    broker = ready()
    broker.send(5)
    broker.sync()
    found = broker.broker.queues["work"].retained
    assert found.lowest is not None
    other = Broker()
    other.store, other.sent, other.confirmed = broker.store, broker.sent, broker.confirmed
    other.store.crash(Random(0))
    logs = {}
    for log in other.store.log_names():
        bounds = other.store.bounds(log)
        logs[log] = (bounds.first_low, bounds.end_high, bounds.stored_bytes)
    other.broker = QueueBroker(
        "one",
        (QueueConfig("work"),),
        (),
        PARAMETERS,
        Tokens(),
        saved=other.store.load_state(),
        logs=logs,
        now=other.now,
    )
    other.carry_out(other.broker.start())
    assert other.broker.queues["work"].retained.lowest is None


def test_what_a_full_queue_refuses_waits_in_the_alias_queue_and_says_why() -> None:
    broker = Broker(depth_limit_messages=8)
    broker.consuming = False
    broker.start()
    broker.send(6)
    broker.settle_down()
    broker.send(6)
    broker.settle_down()
    alias = broker.broker.aliases["orders"]
    assert broker.confirmed == set(range(12))
    assert broker.broker.queues["work"].entries.rows == 6
    assert alias.entries.rows == 6
    assert "is full (depth_limit_messages)" in alias.explain(broker.now)
    broker.consuming = True
    broker.crash()
    broker.settle_down()
    assert set(broker.places) == set(range(12))
    assert alias is not broker.broker.aliases["orders"]
    assert broker.broker.aliases["orders"].entries.rows == 0


def test_an_unknown_destination_refuses_and_is_named() -> None:
    broker = Broker(("nowhere@one",))
    broker.send(3)
    broker.settle_down()
    alias = broker.broker.aliases["orders"]
    assert alias.entries.rows == 3
    assert "no queue 'nowhere'" in alias.explain(broker.now)


def test_a_full_disk_refuses_and_a_repeat_is_taken_later() -> None:
    broker = ready()
    broker.store.full = True
    broker.send(3)
    broker.sync()
    assert broker.confirmed == {0}
    assert broker.refusals
    broker.store.full = False
    broker.pass_time(5)
    broker.send_again()
    broker.settle_down()
    assert broker.confirmed == set(range(4))
    assert all(len(places) == 1 for places in broker.places.values())


def test_rows_stay_in_order_behind_those_that_the_alias_queue_stored() -> None:
    broker = Broker()
    broker.send(3)
    broker.send(3)
    broker.settle_down()
    positions = [next(iter(broker.places[number]))[1] for number in range(6)]
    assert positions == sorted(positions)


@pytest.mark.parametrize("seed", range(60))
def test_any_walk_leaves_every_confirmed_row_in_one_place(seed: int) -> None:
    random = Random(seed)
    destinations = ("work@one", "more@one") if seed % 2 else ("work@one",)
    broker = Broker(destinations)
    actions = ("send", "again", "sync", "settle", "time", "crash", "full")
    for _ in range(120):
        match random.choices(actions, (10, 3, 10, 6, 4, 1.5, 1))[0]:
            case "send":
                broker.send(random.randrange(1, 6))
            case "again":
                broker.send_again()
            case "sync":
                broker.sync()
            case "settle":
                broker.settle()
            case "time":
                broker.pass_time(random.randrange(1, 4))
            case "crash":
                broker.crash(random.randrange(1000))
            case "full":
                broker.store.full = not broker.store.full
    broker.settle_down()
    broker.send_again()
    broker.settle_down()
    assert broker.confirmed == set(range(broker.sent)) == set(broker.places)
    for number, places in broker.places.items():
        assert len(places) == 1, f"seed {seed}: message {number} is at {places}"
    for name in QUEUES:
        queue = broker.broker.queues[name]
        assert queue.entries.rows == queue.prepared.rows == 0
        assert queue.retained.lowest is None
    assert broker.broker.aliases["orders"].entries.rows == 0

"""One queue at one broker, as its clients see it, over a disk in memory."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
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
    Browse,
    Browsed,
    Credit,
    Deliver,
    Given,
    ListQueues,
    OpenSender,
    PurgeQueue,
    QueueAnswer,
    Receive,
    Receiving,
    SenderOpened,
    SendReceipt,
    SendRefused,
    SendToQueue,
    Settle,
    Settled,
    StopReceiving,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.store.faulty import MemoryStore


class Desk:
    """A broker with queues, and everything that its clients were told."""

    def __init__(self, *queues: QueueConfig, parameters: QueueParameters | None = None) -> None:
        self.now: Instant = 1000 * SECOND
        self.store = MemoryStore[Any](lambda entry: entry.frame.weight)
        self._queues = queues or (QueueConfig("work", max_deliveries=3),)
        self._parameters = parameters or QueueParameters()
        self.told: list[tuple[str, Any]] = []
        self.start()

    def start(self) -> None:
        logs = {}
        for log in self.store.log_names():
            bounds = self.store.bounds(log)
            logs[log] = (bounds.first_low, bounds.end_high, bounds.stored_bytes)
        saved = self.store.load_state()
        self.broker = QueueBroker(
            "b", self._queues, (), self._parameters, Tokens(), saved=saved, logs=logs, now=self.now
        )
        self._carry_out(self.broker.start())

    def crash(self, seed: int = 0) -> None:
        self.store.crash(Random(seed))
        self.start()

    def say(self, message: Any, session: str = "c") -> None:
        self._carry_out(self.broker.received(session, message, self.now))
        self.sync()

    def close(self, session: str) -> None:
        self._carry_out(self.broker.session_closed(session, self.now))
        self.sync()

    def pass_time(self, seconds: float) -> None:
        self.now += round(seconds * SECOND)
        deadline = self.broker.next_deadline()
        if deadline is not None and deadline <= self.now:
            self._carry_out(self.broker.deadline(self.now))
        self.sync()

    def sync(self) -> None:
        while self.store.unsynced_orders:
            commit = self.store.sync()
            for token in commit.durable:
                self._carry_out(self.broker.resolved(token, None, self.now))
            for failure in commit.failed:
                self.store.resume_after(failure)
                self._carry_out(
                    self.broker.resolved(
                        failure.token,
                        PersistFailed(failure.token, failure.reason, failure.uncertain),
                        self.now,
                    )
                )

    def _carry_out(self, effects: list[Any]) -> None:
        for effect in effects:
            match effect:
                case Send(link, message):
                    self.told.append((link, message))
                case Persist(token, log, entry):
                    self.store.append(token, log, entry.frame.low, entry.frame.high, entry)
                case PersistState(token, values):
                    self.store.set_state(token, values)
                case ReadLog(token, log, low, high, limit):
                    found = self.store.read(log, low, high, limit)
                    frames = tuple(record.data for record in found.records)
                    fact = LogRead(token, frames, found.complete_to, lost=found.lost)
                    self._carry_out(self.broker.log_read(fact, self.now))
                case TrimLog(log, below):
                    self.store.trim(log, below)
        self.broker.check_invariants()

    def take(self, kind: type) -> list[Any]:
        """What clients were told of this kind since the last time."""
        found = [message for _, message in self.told if isinstance(message, kind)]
        self.told = [each for each in self.told if not isinstance(each[1], kind)]
        return found

    def numbers(self) -> list[int]:
        """The messages that were delivered since the last time."""
        return [
            int(row["n"])
            for each in self.take(Deliver)
            for row in each.frame.batch.attribute_rows()
        ]

    def status(self, queue: str = "work") -> dict[str, Any]:
        self.say(ListQueues(queue, request=1))
        (answer,) = self.take(QueueAnswer)
        return msgspec.json.decode(answer.document)["queues"][0]


def rows(first: int, count: int, size: int = 10) -> Batch:
    return Batch.from_rows([({"n": n}, b"x" * size) for n in range(first, first + count)])


def send(desk: Desk, first: int, count: int, **options: Any) -> None:
    desk.say(SendToQueue("p", "work", first, rows(first, count), **options), "producer")


def test_a_receipt_comes_when_the_rows_are_durable_and_a_repeat_is_stored_once():
    desk = Desk()
    send(desk, 0, 3)
    assert desk.take(SendReceipt) == [SendReceipt("p", "work", 0, 3, 1)]
    send(desk, 0, 3)
    assert desk.take(SendReceipt) == [SendReceipt("p", "work", 0, 3, 0)]
    send(desk, 2, 3)
    desk.say(Receive("c", "work", "", 100))
    assert desk.numbers() == [0, 1, 2, 3, 4]


def test_credit_bounds_what_a_consumer_holds():
    desk = Desk()
    send(desk, 0, 10)
    desk.say(Receive("c", "work", "", 4))
    assert desk.numbers() == [0, 1, 2, 3]
    desk.say(Credit("c", 3))
    assert desk.numbers() == [4, 5, 6]
    assert desk.status()["held"] == 7


def test_consumers_share_what_there_is():
    desk = Desk()
    desk.say(Receive("c", "work", "", 100), "one")
    desk.say(Receive("c", "work", "", 100), "two")
    send(desk, 0, 10)
    shares = [(link, len(m.frame)) for link, m in desk.told if isinstance(m, Deliver)]
    assert shares == [("one", 5), ("two", 5)]


def test_an_acknowledged_message_never_comes_back():
    desk = Desk()
    send(desk, 0, 4)
    desk.say(Receive("c", "work", "", 100))
    desk.say(Settle("c", 1, accepted=((1, 3),)))
    assert desk.take(Settled) == [Settled("c", 1)]
    desk.numbers()
    desk.crash()
    desk.say(Receive("c", "work", "", 100))
    deliveries = [m for _, m in desk.told if isinstance(m, Deliver)]
    assert all(each.recovered for each in deliveries)
    assert desk.numbers() == [2, 3]


def test_only_what_a_dead_consumer_was_given_returns_counted():
    desk = Desk()
    send(desk, 0, 3)
    desk.say(Receive("c", "work", "", 100), "one")
    desk.say(Given("c", ((1, 3),)), "one")
    desk.say(Settle("c", 1, accepted=((1, 2),)), "one")
    desk.take(Deliver)
    desk.close("one")
    desk.say(Receive("c", "work", "", 100), "two")
    deliveries = desk.take(Deliver)
    assert [each for delivery in deliveries for each in delivery.attempts] == [(2, 1), (3, 0)]
    desk.say(Given("c", ((2, 4),)), "two")
    desk.say(StopReceiving("c"), "two")
    desk.say(Receive("c", "work", "", 100), "three")
    deliveries = desk.take(Deliver)
    assert [each for delivery in deliveries for each in delivery.attempts] == [(2, 1), (3, 0)]


def test_messages_that_no_application_received_never_become_dead_letters():
    desk = Desk()
    send(desk, 0, 5)
    for life in range(10):
        desk.say(Receive("c", "work", "", 100), f"life {life}")
        desk.close(f"life {life}")
    assert desk.status()["messages"] == 5
    desk.take(Deliver)
    desk.say(Receive("c", "work", "", 100))
    assert sorted(desk.numbers()) == [0, 1, 2, 3, 4]


def test_a_consumers_name_is_its_own_on_a_connection():
    desk = Desk(QueueConfig("work"), QueueConfig("other"))
    send(desk, 0, 3)
    desk.say(Receive("c", "work", "", 100), "one")
    desk.take(Receiving)
    desk.say(Receive("c", "other", "", 100), "one")
    (refusal,) = desk.take(Receiving)
    assert "has a consumer 'c' already, of queue 'work'" in refusal.problem
    desk.take(Deliver)
    desk.close("one")

    desk.say(Receive("c", "work", "", 100), "two")
    assert sorted(desk.numbers()) == [0, 1, 2]


def test_attempts_outlive_a_crash():
    desk = Desk()
    send(desk, 0, 1)
    desk.say(Receive("c", "work", "", 100))
    desk.take(Deliver)
    desk.say(Settle("c", 1, failed=((1, 2),)))
    desk.take(Deliver)
    desk.crash()
    desk.say(Receive("c", "work", "", 100))
    (delivery,) = desk.take(Deliver)
    assert delivery.attempts == ((1, 1),)


def test_settling_what_is_not_held_is_said_to_be_stale():
    desk = Desk()
    send(desk, 0, 2)
    desk.say(Receive("c", "work", "", 1))
    desk.say(Settle("c", 1, accepted=((1, 3),)))
    assert desk.take(Settled) == [Settled("c", 1, 1)]
    assert desk.status()["messages"] == 1


@pytest.mark.parametrize("how", ["too often", "rejected"])
def test_hopeless_messages_become_dead_letters_once(how):
    desk = Desk()
    send(desk, 0, 2)
    desk.say(Receive("c", "work", "", 100))
    if how == "rejected":
        desk.say(Settle("c", 1, rejected=((1, 2),)))
    else:
        for number in range(3):
            desk.say(Credit("c", 1))
            desk.say(Settle("c", number, failed=((1, 2),)))
    desk.take(Deliver)
    desk.crash()
    desk.say(Receive("d", "dead-letters", "", 100))
    (letter,) = desk.take(Deliver)
    (attributes,) = letter.frame.batch.attribute_rows()
    assert (attributes["n"], attributes["dead_letter_queue"]) == (0, "work")
    assert desk.status()["messages"] == 1


def test_expired_messages_leave_or_become_dead_letters():
    for keep in (False, True):
        desk = Desk(QueueConfig("work", keep_expired=keep))
        send(desk, 0, 2, time_to_live_ns=SECOND)
        send(desk, 2, 1)
        desk.pass_time(2)
        desk.say(Receive("c", "work", "", 100))
        assert desk.numbers() == [2]
        assert desk.status("dead-letters")["messages"] == (2 if keep else 0)
        assert desk.status()["expired_messages"] == 2


def test_urgent_messages_are_first_and_selectors_choose():
    desk = Desk()
    send(desk, 0, 3, priority=1)
    send(desk, 3, 3, priority=8)
    desk.say(Receive("odd", "work", "n = 1 OR n = 5", 100))
    assert desk.numbers() == [5, 1]
    desk.say(Receive("all", "work", "", 100))
    assert desk.numbers() == [3, 4, 0, 2]
    send(desk, 6, 1)
    send(desk, 1000, 1)
    assert desk.numbers() == [6, 1000]
    desk.say(Receive("bad", "work", "n ==", 1))
    (*_, refusal) = desk.take(Receiving)
    assert "selector" in refusal.problem


def test_a_selective_consumer_gets_what_comes_back():
    desk = Desk()
    desk.say(Receive("c", "work", "n > 1", 100), "one")
    send(desk, 0, 4)
    assert desk.numbers() == [2, 3]
    desk.say(Settle("c", 1, failed=((3, 4),)), "one")
    assert desk.numbers() == [2]


def test_bodies_that_do_not_fit_in_memory_are_read_back():
    desk = Desk(parameters=QueueParameters(memory_bytes=2000, read_bytes=1500))
    for first in range(0, 100, 10):
        desk.say(SendToQueue("p", "work", first, rows(first, 10, 100)))
    assert desk.broker.queues["work"].entries.loaded_bytes <= 2000
    desk.say(Receive("c", "work", "", 1000))
    assert desk.numbers() == list(range(100))
    desk = Desk(parameters=QueueParameters(memory_bytes=2000, read_bytes=1500))
    for first in range(0, 100, 10):
        desk.say(SendToQueue("p", "work", first, rows(first, 10, 100)))
    desk.say(Receive("c", "work", "n > 97", 1000))
    assert desk.numbers() == [98, 99]


def test_a_settled_journal_is_trimmed_and_repeats_are_still_known():
    desk = Desk()
    send(desk, 0, 10)
    desk.say(Receive("c", "work", "", 100))
    desk.say(Settle("c", 1, accepted=((1, 11),)))
    desk.pass_time(2)
    desk.pass_time(2)
    assert desk.store.bounds("queue/work").first_low > 10
    desk.take(SendReceipt)
    desk.crash()
    send(desk, 0, 10)
    assert desk.take(SendReceipt) == [SendReceipt("p", "work", 0, 10, 0)]
    assert desk.status()["messages"] == 0
    desk.say(OpenSender("p", "work"))
    assert desk.take(SenderOpened) == [SenderOpened("p", "work", 10)]


def test_a_full_disk_refuses_and_loses_nothing():
    desk = Desk()
    send(desk, 0, 2)
    desk.say(Receive("c", "work", "", 100))
    desk.numbers()
    desk.store.full = True
    send(desk, 2, 2)
    (refusal,) = desk.take(SendRefused)
    assert refusal.reason == "the disk is full"
    desk.say(Settle("c", 1, accepted=((1, 3),)))
    assert desk.take(Settled) == []
    desk.store.full = False
    desk.pass_time(1)
    assert desk.take(Settled) == [Settled("c", 1)]
    send(desk, 2, 2)
    assert desk.numbers() == [2, 3]


def test_a_full_queue_and_bad_requests_say_what_is_wrong():
    desk = Desk(QueueConfig("work", depth_limit_messages=5))
    send(desk, 0, 6)
    assert "'work' is full (depth_limit_messages)" in desk.take(SendRefused)[0].reason
    desk.say(SendToQueue("p", "other", 0, rows(0, 1)))
    assert "has no queue 'other'; it has dead-letters, work" in desk.take(SendRefused)[0].reason
    send(desk, 0, 1, priority=10)
    assert "priority 10 is not one of 0 to 9" in desk.take(SendRefused)[0].reason
    for wrong in ({"time_to_live_ns": -1}, {"time_to_live_ns": 2**63 - 1}):
        send(desk, 0, 1, **wrong)
        assert "time to live" in desk.take(SendRefused)[0].reason
    desk.say(SendToQueue("p", "work", 2**63 - 1, rows(0, 1)))
    assert "sequence number" in desk.take(SendRefused)[0].reason
    desk.say(SendToQueue("p" * 600, "work", 0, rows(0, 1)))
    assert "producer's name" in desk.take(SendRefused)[0].reason
    desk.say(SendToQueue("p", "work", 0, rows(0, 0)))
    assert "no messages" in desk.take(SendRefused)[0].reason
    desk.say(Receive("c", "other", "", 1))
    assert "has no queue 'other'" in desk.take(Receiving)[0].problem
    desk.say(PurgeQueue("other", request=1))
    assert "has no queue 'other'" in desk.take(QueueAnswer)[0].problem


def test_browsing_shows_what_waits_in_pieces():
    desk = Desk()
    send(desk, 0, 5)
    send(desk, 5, 5)
    desk.say(Receive("c", "work", "", 2))
    desk.say(Browse("work", "n <> 4", 0, 3, request=7))
    (answer,) = desk.take(Browsed)
    assert [int(row["n"]) for f in answer.frames for row in f.batch.attribute_rows()] == [2, 3, 5]
    desk.say(Browse("work", "", answer.next_position, 100, request=8))
    (rest,) = desk.take(Browsed)
    assert [int(row["n"]) for f in rest.frames for row in f.batch.attribute_rows()] == [6, 7, 8, 9]
    assert rest.next_position == 0


def test_purging_discards_what_waits_and_not_what_is_held():
    desk = Desk()
    send(desk, 0, 5)
    desk.say(Receive("c", "work", "", 2))
    desk.say(PurgeQueue("work", request=1))
    (answer,) = desk.take(QueueAnswer)
    assert msgspec.json.decode(answer.document) == {"purged": 3}
    assert desk.status()["messages"] == 2


# -- senders of one name --------------------------------------------------------------------


def named(*names: str) -> Batch:
    return Batch.from_rows([({"name": name}, b"") for name in names])


def test_the_later_sender_of_a_name_takes_it_over_and_the_earlier_is_told() -> None:
    desk = Desk()
    desk.say(OpenSender("orders", "work", 1), "a")
    desk.say(SendToQueue("orders", "work", 0, named("A0"), instance=1), "a")
    desk.say(OpenSender("orders", "work", 2), "b")
    assert desk.take(SenderOpened)[-1].next_sequence == 1

    desk.take(SendReceipt)
    desk.say(SendToQueue("orders", "work", 1, named("A1"), instance=1), "a")
    (refusal,) = desk.take(SendRefused)
    assert refusal.taken_over
    assert "another sender named 'orders'" in refusal.reason
    desk.say(SendToQueue("orders", "work", 1, named("B1"), instance=2), "b")
    (receipt,) = desk.take(SendReceipt)
    assert receipt.first_position > 0, "it is new, and no repeat of the other's"


@pytest.mark.parametrize("saved", [False, True])
def test_who_has_a_senders_name_survives_a_crash(saved: bool) -> None:
    desk = Desk()
    desk.say(OpenSender("orders", "work", 1), "a")
    desk.say(SendToQueue("orders", "work", 0, named("A0"), instance=1), "a")
    desk.say(OpenSender("orders", "work", 2), "b")
    if saved:
        desk.pass_time(QueueParameters().checkpoint_ns / SECOND + 1)
    desk.crash()
    desk.say(OpenSender("orders", "work", 1, resumes=True), "a again")
    assert desk.take(SenderOpened)[-1].taken_over

    desk.say(OpenSender("orders", "work", 2, resumes=True), "b again")
    assert not desk.take(SenderOpened)[-1].taken_over


# -- damage -----------------------------------------------------------------------------------


def test_bodies_that_cannot_be_read_back_are_lost_and_the_queue_goes_on():
    desk = Desk(parameters=QueueParameters(memory_bytes=2000, read_bytes=1500))
    for first in range(0, 100, 10):
        desk.say(SendToQueue("p", "work", first, rows(first, 10, 100)))
    low, high = desk.store.damage("queue/work", Random(2))
    desk.say(Receive("c", "work", "", 1000))
    lost = set(range(low - 1, high - 1))
    received = desk.numbers()
    if not lost.isdisjoint(received):
        assert set(received) == set(range(100)), "its bodies were in memory still"
        return
    assert received == [number for number in range(100) if number not in lost]
    assert desk.status()["lost_messages"] == 10
    assert f"damaged at the positions [{low}, {high})" in desk.status()["problem"]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_of_a_journal_is_damaged_a_restart_goes_on_with_the_rest(seed):
    random = Random(seed)
    desk = Desk(parameters=QueueParameters(memory_bytes=2000, read_bytes=1500))
    for first in range(0, 60, 10):
        desk.say(SendToQueue("p", "work", first, rows(first, 10, 100)))
    desk.say(Receive("c", "work", "", 20))
    desk.numbers()
    desk.say(Settle("c", 1, accepted=((1, 11),)))
    low, high = desk.store.damage("queue/work", random)
    desk.crash(seed)
    desk.say(Receive("c", "work", "", 1000))
    received = desk.numbers()
    assert received == sorted(set(received))
    assert desk.status()["problem"]
    if high - low == 1:
        # A note: what it settled is handed out again.
        assert set(range(10, 60)) <= set(received)
    else:
        assert set(range(10, 60)) - set(range(low - 1, high - 1)) <= set(received)


def test_a_repeat_of_what_is_stored_is_confirmed_even_if_there_is_no_room():
    desk = Desk(QueueConfig("work", depth_limit_messages=10))
    send(desk, 0, 10)
    assert desk.take(SendReceipt) == [SendReceipt("p", "work", 0, 10, 1)]
    send(desk, 10, 1)
    assert len(desk.take(SendRefused)) == 1
    send(desk, 0, 10)
    assert desk.take(SendReceipt) == [SendReceipt("p", "work", 0, 10, 0)]

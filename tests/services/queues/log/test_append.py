"""Appending rows, and the answers that wait for them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.core.machine import Persist, PersistFailed
from penstock.core.tokens import Tokens
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.append import REPEAT_OF_REFUSED, Appender, entry_of
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.parameters import QueueParameters


class Desk:
    """An appender, and the orders that its store has not answered."""

    def __init__(self) -> None:
        self.journal = Journal("q", QueueContext("b", QueueParameters(), Tokens(), {}, {}, 0))
        self.journal.start([])
        self.appender: Appender[str] = Appender(self.journal)
        self.orders: list[Persist] = []

    def send(self, first: int, count: int) -> None:
        batch = Batch.from_rows([({}, b"")] * count)
        answer, entries = self.appender.admit(f"{first}", "o", first, batch, priority=4)
        for entry in entries:
            self.appender.append(entry, answer, self.orders)

    def resolve(self, index: int = 0, failure: PersistFailed | None = None):
        order = self.orders.pop(index)
        self.journal.resolved(order.token, failure)
        return self.appender.resolved(order.token, failure)

    def answers(self):
        return [(each.sender, each.failure) for each in self.appender.answers()]


def test_an_answer_waits_for_the_store_and_is_given_in_order():
    desk = Desk()
    desk.send(0, 3)
    desk.send(3, 1)
    assert desk.resolve(1) is not None
    assert desk.answers() == []
    desk.resolve()
    assert desk.answers() == [("0", ""), ("3", "")]
    assert desk.appender.pending_rows == desk.appender.pending_bytes == 0


def test_a_repeat_is_not_stored_and_waits_for_the_original():
    desk = Desk()
    desk.send(0, 3)
    desk.send(0, 3)
    assert len(desk.orders) == 1
    assert desk.answers() == []
    desk.resolve()
    assert desk.answers() == [("0", ""), ("0", "")]


def test_a_repeat_of_a_refused_row_is_refused():
    desk = Desk()
    desk.send(0, 3)
    desk.send(0, 2)
    desk.resolve(failure=PersistFailed(0, "the disk is full"))
    assert desk.answers() == [("0", "the disk is full"), ("0", REPEAT_OF_REFUSED)]
    desk.send(0, 3)
    assert len(desk.orders) == 1, "after the refusal the rows are new"


def test_rows_after_a_failed_sync_are_neither_stored_nor_refused_for_good():
    desk = Desk()
    desk.send(0, 3)
    desk.resolve(failure=PersistFailed(0, "sync failed", uncertain=True))
    assert desk.answers() == [("0", "sync failed")]
    assert desk.appender.may_be_repeat("o", 0, 3)
    desk.send(0, 3)
    assert desk.orders == []
    (answer,) = desk.appender.answers()
    assert answer.uncertain


def test_a_refusal_of_a_part_says_that_the_rest_may_be_stored():
    desk = Desk()
    batch = Batch.from_rows([({}, b"")] * 5)
    answer, (entry,) = desk.appender.admit("0", "o", 0, batch, priority=4)
    failure = PersistFailed(0, "the disk is full")
    desk.journal.origins.remove("o", entry.first_sequence, 3)
    desk.appender.fail(answer, failure, entry.first_sequence, 3)
    answer.wait = 0
    assert desk.answers() == [("0", "the disk is full")]
    assert answer.uncertain
    desk.send(10, 2)
    desk.resolve(failure=failure)
    (refused,) = desk.appender.answers()
    assert not refused.uncertain, "none of them is stored"


def test_rows_within_the_broker_are_not_numbered(make_rows):
    desk = Desk()
    desk.appender.append_unnumbered("alias", make_rows(1, 2), desk.orders)
    assert desk.appender.pending_ranges() == []
    assert desk.appender.pending_intervals() == [(1, 3)]
    desk.resolve()
    assert desk.answers() == [("alias", "")]
    assert "producer/p" not in desk.journal.origins


def test_what_is_pending_is_known_by_number_and_position():
    desk = Desk()
    desk.send(5, 2)
    desk.send(20, 1)
    assert desk.appender.pending_ranges() == [("o", 5, 2), ("o", 20, 1)]
    assert desk.appender.lowest_pending == 1
    desk.resolve()
    assert desk.appender.lowest_pending == 3


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 6)), max_size=12))
def test_every_number_is_stored_once_and_every_send_is_answered(sends):
    desk = Desk()
    for first, count in sends:
        desk.send(first, count)
    stored = []
    while desk.orders:
        entry = desk.resolve()
        stored += range(entry.first_sequence, entry.first_sequence + len(entry.frame))
    assert sorted(stored) == sorted(
        {n for first, count in sends for n in range(first, first + count)}
    )
    assert desk.answers() == [(str(first), "") for first, _ in sends]


def test_the_description_of_prepared_rows(make_rows):
    entry = entry_of(make_rows(3, 2, in_doubt=True), stored=False)
    assert (entry.low, entry.high, entry.prepared, entry.stored) == (3, 5, True, False)

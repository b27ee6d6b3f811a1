"""Rows that pass through an alias queue."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import Persist, PersistFailed, PersistState
from penstock.services.queues.alias.pass_through import PassThrough
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.log.append import Appender
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.parameters import AliasConfig, QueueParameters

NOW = 1000 * SECOND


class Desk:
    """A pass-through whose positions are reserved."""

    def __init__(self, make_journal, make_batch, **parameters):
        self.journal, self.entries = make_journal(), Entries(1 << 20)
        self.appender, self.make_batch = Appender(self.journal), make_batch
        self.rows = AliasRows(self.journal, self.entries)
        self.passing = PassThrough(
            self.rows,
            self.journal,
            self.entries,
            self.appender,
            AliasConfig("orders", ("work@east",)),
            QueueParameters(**parameters),
        )
        out = []
        self.passing.open(NOW, near=True, out=out)
        (state,) = out
        assert isinstance(state, PersistState)
        self.journal.resolved(state.token, None)
        self.out = []

    def send(self, first, count, *, passing=True):
        answer, (entry,) = self.appender.admit(
            "c", "producer/p", first, self.make_batch(count, first), priority=4
        )
        taken = passing and self.passing.offer(entry, answer)
        if not taken:
            self.appender.append(entry, answer, self.out)
        return taken

    def arrive(self):
        arrived = self.passing.arrivals()
        for rows in arrived:
            self.rows.arrived(rows, stored=False)
        return [(rows.frame.low, rows.frame.high) for rows in arrived]

    def answers(self):
        return [(each.first_sequence, each.failure) for each in self.appender.answers()]


@pytest.fixture
def desk(make_journal, make_batch):
    return Desk(make_journal, make_batch)


def test_rows_pass_only_while_it_is_open(desk):
    assert desk.send(0, 2)
    desk.passing.close()
    assert not desk.send(2, 2)
    desk.passing.open(NOW, near=False, out=desk.out)
    assert not desk.send(4, 2)


def test_rows_that_would_exceed_the_bound_are_stored(make_journal, make_batch):
    desk = Desk(make_journal, make_batch, submit_limit_bytes=1)
    assert not desk.send(0, 2)


def test_rows_without_a_reservation_are_stored(make_journal, make_batch):
    desk = Desk(make_journal, make_batch)
    desk.journal.assigned_end += 1 << 21
    assert not desk.send(0, 2)


def test_rows_wait_behind_earlier_rows_on_their_way_to_the_disk(desk):
    assert not desk.send(0, 1, passing=False)
    assert desk.send(1, 2)
    assert desk.arrive() == []
    assert desk.passing.arriving() == [(2, 4)]
    desk.appender.resolved(desk.out[0].token, None)
    assert desk.arrive() == [(2, 4)]


def test_the_producer_is_answered_when_all_its_rows_have_an_owner(desk):
    desk.send(10, 3)
    desk.arrive()
    assert desk.passing.origins_of([(1, 2), (2, 4)]) == (("producer/p", 10, 3),)
    assert desk.passing.pending_ranges() == [("producer/p", 10, 3)]
    desk.passing.owned(1, 3)
    assert desk.answers() == []
    assert desk.passing.pending_ranges() == [("producer/p", 12, 1)]
    desk.passing.owned(3, 4)
    assert desk.answers() == [(10, "")]
    assert (desk.passing.passed_messages, len(desk.passing)) == (3, 0)


def test_rows_whose_note_is_refused_are_refused(desk):
    desk.send(10, 3)
    desk.arrive()
    assert desk.passing.refused(1, 3, PersistFailed(0, "full")) == [(1, 3)]
    desk.passing.owned(3, 4)
    assert desk.answers() == [(10, "full")]
    assert desk.journal.origins.new_numbers("producer/p", 10, 3) == [(10, 12)]


def test_overdue_rows_are_stored_under_new_positions(desk):
    desk.send(10, 3)
    desk.arrive()
    desk.send(13, 1)
    limit = QueueParameters().unstored_limit_ns
    assert desk.passing.overdue_at == NOW + limit
    assert desk.passing.is_overdue(NOW + limit)
    desk.passing.owned(1, 2)
    parts = [(2, 4)]
    desk.rows.undecided.remove(1, 2)
    assert desk.passing.undecided() == parts
    desk.passing.store(parts, NOW + limit, desk.out)
    stored = [each.frame for each in desk.out if isinstance(each, Persist)]
    assert [(each.first_sequence, len(each.frame)) for each in stored] == [(11, 2), (13, 1)]
    assert all(each.frame.low >= 5 for each in stored)
    assert len(desk.passing) == 0
    assert desk.answers() == []
    for each in desk.out:
        desk.appender.resolved(each.token, None)
    assert desk.answers() == [(10, ""), (13, "")]
    desk.passing.open(NOW + limit, near=True, out=[])
    assert not desk.send(14, 1), "for some time everything is stored"


def test_rows_taken_for_a_handover_count_until_they_are_handed_over(desk):
    desk.send(10, 3)
    (passing,) = desk.passing.take_for_handover()
    assert passing.first_sequence(2) == 11
    assert passing.pending_ranges() == [("producer/p", 10, 3)]
    assert not passing.done(1, 3)
    assert passing.done(3, 4)
    desk.passing.handed_over(passing)
    assert desk.answers() == [(10, "")]


def test_rows_that_may_be_stored_elsewhere_are_answered_as_uncertain(desk):
    desk.send(10, 1)
    (passing,) = desk.passing.take_for_handover()
    desk.passing.unsure(passing, 1, 2, "sync failed")
    passing.done(1, 2)
    (answer,) = desk.appender.answers()
    assert (answer.failure, answer.uncertain) == ("sync failed", True)

"""The waiting and undecided rows of an alias queue."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.messages import DecisionEntry


class Desk:
    def __init__(self, make_journal, memory_bytes=1 << 20):
        self.journal, self.entries = make_journal(), Entries(memory_bytes)
        self.rows = AliasRows(self.journal, self.entries)

    def waiting(self):
        return [part for _, level in self.rows.waiting.levels() for part in level]


@pytest.fixture
def desk(make_journal):
    return Desk(make_journal)


def test_rows_wait_until_they_are_forwarded_and_again_when_they_come_back(desk, make_rows):
    assert desk.rows.arrived(make_rows(1, 5), stored=True) == 5
    entry, low, high = desk.rows.first_waiting()
    assert (entry.low, low, high) == (1, 1, 6)
    assert desk.rows.forwarded(entry, 1, 6) == entry.weight_bytes
    assert desk.rows.first_waiting() is None
    assert list(desk.rows.undecided) == [(1, 6)]
    desk.rows.wait_again([(2, 4)])
    assert desk.waiting() == [(2, 4)]
    desk.rows.decide(1, 3)
    assert (desk.waiting(), list(desk.rows.undecided)) == ([(3, 4)], [(3, 6)])


def test_the_floor_is_below_everything_that_is_undecided_or_not_durable(desk, make_rows):
    assert desk.rows.floor == desk.journal.assigned_end
    rows = make_rows(1, 5)
    desk.journal.place(rows.frame.batch)
    token = desk.journal.append(rows, [])
    assert desk.rows.floor == 1
    desk.journal.resolved(token, None)
    desk.rows.arrived(rows, stored=True)
    assert desk.rows.floor == 1
    desk.entries.settle(1, 6)
    assert desk.rows.floor == 6


def test_after_a_restart_every_row_without_a_decision_waits(desk, make_rows):
    desk.entries.add(entry_of(make_rows(1, 5), recovered=True))
    desk.rows.recover_decision(DecisionEntry(desk.journal.note(), "work@east", ((2, 4),)))
    desk.rows.place_recovered()
    assert desk.waiting() == list(desk.rows.undecided) == [(1, 2), (4, 6)]
    assert desk.entries.rows == 3


def test_waiting_rows_without_a_body_are_found(make_journal, make_rows):
    desk = Desk(make_journal, memory_bytes=1)
    desk.rows.arrived(make_rows(1, 3), stored=True)
    desk.rows.arrived(make_rows(4, 3), stored=False)
    assert desk.rows.waiting_without_body([(2, 6)]) == [(1, 4)]


@given(st.integers(1, 8), st.lists(st.integers(0, 8), min_size=2, max_size=2))
def test_the_parts_of_a_run_weigh_no_more_than_the_run(count, cuts):
    frame = Frame(1, 1 + count, range(1, 1 + count), Batch.from_rows([({}, b"xyz")] * count))
    entries = Entries(1 << 20)
    entry = Entry(frame, origin="o", first_sequence=0, priority=4, expires_at=0)
    entries.add(entry)
    rows = AliasRows(None, entries)
    edges = sorted({1, 1 + count, *(1 + min(cut, count) for cut in cuts)})
    parts = [rows.weight_bytes(low, high) for low, high in pairwise(edges)]
    assert entry.weight_bytes - len(parts) <= sum(parts) <= entry.weight_bytes

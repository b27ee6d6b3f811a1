"""Decision notes."""

from __future__ import annotations

import pytest

from penstock.services.queues.alias.decisions import DISCARDED, DecisionNotes


@pytest.fixture
def notes(make_journal):
    return DecisionNotes(make_journal(), retry_ns=5)


def write(notes):
    out = []
    for address, intervals in notes.due():
        notes.write(address, intervals, (), out)
    return out


def test_one_note_for_each_destination_is_under_way(notes):
    notes.decide("east", 1, 3)
    notes.decide("west", 3, 4)
    notes.decide("east", 5, 6)
    first = write(notes)
    assert [(each.frame.destination, each.frame.intervals) for each in first] == [
        ("east", ((1, 3), (5, 6))),
        ("west", ((3, 4),)),
    ]
    notes.decide("east", 7, 8)
    assert write(notes) == []
    assert notes.resolved(first[0].token) == ("east", [(1, 3), (5, 6)])
    assert len(write(notes)) == 1


def test_rows_are_unwritten_until_the_note_is_durable(notes):
    notes.decide("east", 1, 3)
    (order,) = write(notes)
    assert notes.unwritten(0, 10) == [(1, 3)]
    assert notes.resolved(order.token + 1) is None
    notes.resolved(order.token)
    assert notes.unwritten(0, 10) == []


def test_a_refused_note_is_written_again_before_later_decisions(notes):
    notes.decide("east", 1, 3)
    (order,) = write(notes)
    notes.decide("east", 9, 10)
    notes.write_again(*notes.resolved(order.token), now=100)
    assert notes.retry_at == 105
    assert write(notes) == []
    notes.deadline(105)
    (again,) = write(notes)
    assert again.frame.intervals == ((1, 3), (9, 10))
    assert notes.unwritten(0, 10) == [(1, 3), (9, 10)]


def test_discarded_rows_are_known_until_the_note_is_durable(notes):
    notes.decide(DISCARDED, 1, 3)
    assert notes.discarding() == [(1, 3)]
    (order,) = write(notes)
    notes.decide(DISCARDED, 5, 6)
    assert sorted(notes.discarding()) == [(1, 3), (5, 6)]
    notes.resolved(order.token)
    assert notes.discarding() == [(5, 6)]

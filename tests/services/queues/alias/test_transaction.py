"""The alias queue's half of the forwarding transaction."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import Persist, PersistFailed
from penstock.mechanisms.rate_meter import WindowRateMeter
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.pass_through import PassThrough
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.alias.transaction import ForwardingTransaction
from penstock.services.queues.log.append import Appender
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import Decision, DecisionEntry, Resolved, Stored
from penstock.services.queues.parameters import AliasConfig

NOW = 1000 * SECOND


class Desk:
    """The rows [1, 7) wait; the store answers when it is told to."""

    def __init__(self, make_context, make_rows):
        context = make_context()
        config = AliasConfig("orders", ("work@east", "work@west"))
        self.journal, self.entries = Journal("alias/orders", context), Entries(1 << 20)
        self.journal.start([])
        self.rows = AliasRows(self.journal, self.entries)
        self.destinations = Destinations("b", config.destinations)
        for each in self.destinations:
            each.reachable = True
        self.east, self.west = self.destinations
        self.forwarded = WindowRateMeter(NOW)
        pass_through = PassThrough(
            self.rows,
            self.journal,
            self.entries,
            Appender(self.journal),
            config,
            context.parameters,
        )
        self.transaction = ForwardingTransaction(
            "orders",
            context,
            self.journal,
            self.entries,
            self.rows,
            self.destinations,
            pass_through,
            self.forwarded,
        )
        rows = make_rows(1, 6)
        self.journal.place(rows.frame.batch)
        self.rows.arrived(rows, stored=True)

    def forward(self, destination, low, high):
        self.rows.waiting.remove(4, low, high)
        destination.sent(low, high, 100, NOW)

    def stored(self, site, *intervals, resolved=()):
        message = Stored(site, "b", "orders", "work", intervals, resolved)
        return self.said(lambda out: self.transaction.stored(message, NOW, out))

    def said(self, act):
        out = []
        act(out)
        return [each if isinstance(each, Persist) else each.message for each in out]

    def note(self, failure=None):
        (order,) = self.said(self.transaction.flush)
        return order.frame, self.said(
            lambda out: self.transaction.note_resolved(order.token, failure, NOW, out)
        )


@pytest.fixture
def desk(make_context, make_rows):
    return Desk(make_context, make_rows)


def decision(site, committed=(), withdrawn=()):
    return Decision("b", site, "orders", "work", committed, withdrawn)


def test_a_destination_is_told_after_the_note_is_durable(desk):
    desk.forward(desk.east, 1, 4)
    assert desk.stored("east", (1, 4)) == []
    assert (list(desk.east.in_flight), list(desk.east.deciding)) == ([], [(1, 4)])
    note, said = desk.note()
    assert (note.destination, note.intervals) == ("work@east", ((1, 4),))
    assert said == [decision("east", committed=((1, 4),))]
    assert list(desk.east.decided) == [(1, 4)]
    assert (desk.entries.rows, desk.forwarded.total) == (3, 3)


def test_the_first_that_asks_gets_a_row_and_the_other_must_drop_it(desk):
    desk.forward(desk.east, 1, 3)
    assert desk.stored("west", (1, 3)) == []
    assert list(desk.east.in_flight) == [], "the row is not in flight any more"
    assert desk.stored("east", (1, 3)) == [], "the note is not durable"
    desk.note()
    assert desk.stored("east", (1, 3)) == [decision("east", withdrawn=((1, 3),))]
    assert desk.stored("west", (1, 3)) == [decision("west", committed=((1, 3),))]


def test_a_decision_is_remembered_until_it_is_confirmed(desk):
    desk.stored("east", (1, 4))
    desk.note()
    assert desk.east.repeat_at is not None
    assert desk.said(lambda out: desk.transaction.announce_all(NOW, out)) == [
        decision("east", committed=((1, 4),))
    ]
    desk.transaction.resolved_by(Resolved("east", "b", "orders", "work", ((1, 3),)), NOW)
    assert list(desk.east.decided) == [(3, 4)]
    desk.stored("east", (5, 6), resolved=((3, 4),))
    assert list(desk.east.decided) == []
    assert desk.east.repeat_at is None


def test_a_stranger_must_drop_what_it_has(desk):
    said = desk.stored("south", (1, 4))
    assert said == [decision("south", withdrawn=((1, 4),))]


def test_a_refused_note_is_written_again_and_announced_then(desk):
    desk.stored("east", (1, 4))
    _, said = desk.note(PersistFailed(0, "full"))
    assert said == []
    assert list(desk.east.deciding) == [(1, 4)]
    assert desk.said(desk.transaction.flush) == []
    desk.transaction.deadline(desk.transaction.retry_at)
    _, said = desk.note()
    assert said == [decision("east", committed=((1, 4),))]


def test_discarded_rows_leave_with_a_note_and_no_announcement(desk):
    desk.transaction.discard_all([(1, 3)])
    assert desk.transaction.discarding() == [(1, 3)]
    note, said = desk.note()
    assert (note.destination, said) == ("", [])
    assert desk.entries.rows == 4
    assert desk.transaction.discarding() == []


def test_a_recovered_decision_is_announced_again(desk):
    entry = DecisionEntry(desk.journal.note(), "work@old", ((1, 3),), (("producer/p", 5, 2),))
    desk.transaction.recover(entry)
    old = desk.destinations.find("old", "work")
    assert (old.retired, list(old.decided)) == (True, [(1, 3)])
    assert desk.journal.origins.new_numbers("producer/p", 5, 2) == []
    assert desk.said(lambda out: desk.transaction.announce_again(old, NOW, out)) == [
        decision("old", committed=((1, 3),))
    ]

"""Forwarding: how waiting rows are divided and sent."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import ReadLog
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.forwarding import FORWARD_ROWS, Forwarding
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.log.bodies import BodyReader
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.parameters import QueueParameters

NOW = 1000 * SECOND


class Discards:
    """Stands for the transaction, of which forwarding needs only this."""

    def __init__(self, rows):
        self.rows, self.discarded = rows, []

    def discard(self, low, high):
        self.discarded.append((low, high))
        self.rows.decide(low, high)


class Desk:
    def __init__(self, make_journal, *, window_bytes=1 << 20, memory_bytes=1 << 24):
        journal, entries = make_journal(), Entries(memory_bytes)
        self.rows = AliasRows(journal, entries)
        self.destinations = Destinations("home", ("work@east", "work@west"))
        for each in self.destinations:
            each.reachable, each.consumers = True, 1
        balancer = Balancer(FixedBalancing({}, SECOND), 0.001, QueueParameters(), NOW)
        self.discards = Discards(self.rows)
        self.forwarding = Forwarding(
            "home",
            "orders",
            "alias/orders",
            window_bytes,
            self.rows,
            BodyReader(journal, entries),
            balancer,
            self.discards,
        )

    def forward(self):
        out = []
        self.forwarding.forward(self.destinations.takers(NOW), NOW, out)
        return out


@pytest.fixture
def desk(make_journal):
    return Desk(make_journal)


def test_a_run_is_cut_into_one_piece_for_each_destination(desk, make_rows):
    desk.rows.arrived(make_rows(1, 5), stored=True)
    sent = desk.forward()
    pieces = [(each.message.destination, list(each.message.frame.ticks)) for each in sent]
    assert pieces == [("east", [1, 2, 3]), ("west", [4, 5])]
    assert {each.flow for each in sent} == {"alias/orders"}
    assert [each.message.under_way for each in sent] == [3, 2]
    assert desk.rows.waiting.count == 0
    assert [each.in_flight.span for each in desk.destinations] == [3, 2]


def test_nothing_is_forwarded_while_a_window_is_full(make_journal, make_rows):
    desk = Desk(make_journal, window_bytes=1)
    desk.rows.arrived(make_rows(1, 2), stored=True)
    desk.rows.arrived(make_rows(3, 2), stored=True)
    assert len(desk.forward()) == 2
    assert desk.rows.waiting.count == 2
    for each in desk.destinations:
        each.take_back_all()
    assert len(desk.forward()) == 2


def test_expired_rows_are_discarded(desk, make_rows):
    desk.rows.arrived(make_rows(1, 2, expires_at=NOW), stored=True)
    desk.rows.arrived(make_rows(3, 1, expires_at=NOW + 1), stored=True)
    (sent,) = desk.forward()
    assert list(sent.message.frame.ticks) == [3]
    assert desk.discards.discarded == [(1, 3)]


def test_a_missing_body_is_read_first(make_journal, make_rows):
    desk = Desk(make_journal, memory_bytes=1)
    desk.rows.arrived(make_rows(1, 2), stored=True)
    (read,) = desk.forward()
    assert isinstance(read, ReadLog)
    assert desk.rows.waiting.count == 2


def test_a_piece_has_a_bounded_number_of_rows(desk, make_rows):
    desk.rows.arrived(make_rows(1, FORWARD_ROWS + 2), stored=True)
    sent = desk.forward()
    assert [len(each.message.frame) for each in sent] == [FORWARD_ROWS // 2] * 2 + [1] * 2


def test_without_takers_everything_waits(desk, make_rows):
    desk.rows.arrived(make_rows(1, 2), stored=True)
    for each in desk.destinations:
        each.reachable = False
    assert desk.forward() == []

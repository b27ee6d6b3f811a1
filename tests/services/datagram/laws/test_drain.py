"""Drains at common instants."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.drain import DRAIN_FOR_NS, Drain

BEGIN = 64 * SECOND + 10 * MILLISECOND


def test_all_drain_at_the_same_instants_and_return() -> None:
    drain = Drain()
    assert not drain.due(0, doubted=False, now=BEGIN)
    now = 65 * SECOND
    assert drain.due(BEGIN, doubted=False, now=now)
    drain.begin(100.0, now)
    assert drain.rate(queue_is_back=False, round_trip_ns=0, now=now) == 50.0
    assert drain.rate(queue_is_back=False, round_trip_ns=0, now=now + DRAIN_FOR_NS) == 100.0
    assert drain.going_on
    assert drain.rate(queue_is_back=True, round_trip_ns=0, now=now + DRAIN_FOR_NS) == 100.0
    assert not drain.going_on


def test_who_has_seen_the_queue_empty_does_not_drain_it() -> None:
    drain = Drain()
    drain.due(0, doubted=False, now=BEGIN)
    assert not drain.due(65 * SECOND - MILLISECOND, doubted=False, now=65 * SECOND)

"""Drains at common instants."""

from __future__ import annotations

from itertools import pairwise

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.drain import DRAIN_FOR_NS, PAUSE, Drain, length_ns

BEGIN = 64 * SECOND + 10 * MILLISECOND


def test_all_drain_at_the_same_instants_and_return() -> None:
    drain = Drain()
    assert not drain.due(100.0, 0, doubted=False, now=BEGIN)
    now = 65 * SECOND
    assert drain.due(100.0, BEGIN, doubted=False, now=now)
    drain.begin(100.0, now)
    assert drain.rate(queue_is_back=False, round_trip_ns=0, now=now) == 50.0
    assert drain.rate(queue_is_back=False, round_trip_ns=0, now=now + DRAIN_FOR_NS) == 100.0
    assert drain.going_on
    assert drain.rate(queue_is_back=True, round_trip_ns=0, now=now + DRAIN_FOR_NS) == 100.0
    assert not drain.going_on


def test_who_has_seen_the_queue_empty_does_not_drain_it() -> None:
    drain = Drain()
    drain.due(100.0, 0, doubted=False, now=BEGIN)
    assert not drain.due(100.0, 65 * SECOND - MILLISECOND, doubted=False, now=65 * SECOND)


def drains_of(rate: float, until_s: int, began: int = BEGIN) -> list[int]:
    """The seconds at which a flow that never sees an empty queue begins to drain it."""
    drain, begun, now = Drain(), [], began
    while now < until_s * SECOND:
        now += 50 * MILLISECOND
        if drain.due(rate, 0, doubted=False, now=now):
            drain.begin(rate, now)
            begun.append(now // SECOND)
        if drain.going_on:
            drain.rate(queue_is_back=False, round_trip_ns=0, now=now)
    return begun


def test_drains_become_rare_as_the_session_grows_older_whatever_it_has_drained() -> None:
    assert drains_of(100.0, 90)[-3:] == [72, 80, 88]
    seen_empty = Drain()
    for step in range(200):
        now = BEGIN + step * 50 * MILLISECOND
        assert not seen_empty.due(100.0, now, doubted=False, now=now)
    assert not seen_empty.due(100.0, 0, doubted=False, now=76 * SECOND)
    assert seen_empty.due(100.0, 0, doubted=False, now=80 * SECOND)


def test_a_thin_flow_drains_for_longer_and_less_often_when_others_do() -> None:
    assert length_ns(100.0) == DRAIN_FOR_NS
    assert length_ns(0.5) == 4 * SECOND
    thin, thick = drains_of(0.5, 200), drains_of(100.0, 200)
    assert set(thin) <= set(thick)
    assert all(after - before >= PAUSE * 3 for before, after in pairwise(thin))

"""The improved law."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.delay_law import (
    LOSS_QUIET_NS,
    MOST_RISE,
    DelayLaw,
    wanted_ns,
)
from penstock.services.datagram.laws.queue_view import ROOM_NS

BEGIN = 64 * SECOND + 10 * MILLISECOND
GAP_NS = 10 * MILLISECOND


def law_with_delay(queueing: Duration) -> tuple[DelayLaw, Instant]:
    """A law of a hundred messages a second that has seen an empty queue, and then this delay."""
    law, now = DelayLaw(), BEGIN
    for step in range(60):
        now += GAP_NS
        law.arrived([queueing if step > 20 else 0], now)
    return law, now


def test_before_a_rate_was_measured_there_is_no_limit() -> None:
    assert DelayLaw().allowed_rate(BEGIN) == inf


def test_without_a_queue_the_rate_rises() -> None:
    law, now = law_with_delay(0)
    assert 100.0 < law.allowed_rate(now) <= MOST_RISE * 100.0


def test_a_long_queue_lowers_the_rate_and_a_short_one_does_not() -> None:
    for queueing, grows in ((ROOM_NS, False), (5 * MILLISECOND, True)):
        law, now = law_with_delay(queueing)
        assert (law.allowed_rate(now) > 100.0) is grows


@given(st.floats(0.1, 1e5), st.floats(0.1, 1e5), st.integers(MILLISECOND, ROOM_NS))
@settings(deadline=None)
def test_a_thinner_flow_wants_a_longer_queue(first: float, second: float, room: int) -> None:
    thin, thick = sorted((first, second))
    assert wanted_ns(thin, room) >= wanted_ns(thick, room)


@given(st.integers(2, 100), st.floats(40.0, 2000.0))
@settings(deadline=None)
def test_a_hundred_flows_fit_into_a_queue_of_45_messages(flows: int, capacity: float) -> None:
    room = round(45 * SECOND / capacity)
    assert wanted_ns(capacity / flows, min(ROOM_NS, room)) < 0.75 * room


def test_nothing_rises_soon_after_a_loss() -> None:
    law, now = law_with_delay(0)
    law.loss_event(now)
    assert law.allowed_rate(now) == pytest.approx(100.0)
    law.arrived([0], now + LOSS_QUIET_NS)
    assert law.allowed_rate(now + LOSS_QUIET_NS) > 0


def test_a_drain_asks_for_a_decision_at_its_end() -> None:
    law, now = law_with_delay(ROOM_NS)
    law.allowed_rate(now)
    assert law.decides_by(now) is None
    for _ in range(200):
        now += GAP_NS
        law.arrived([ROOM_NS], now)
        law.allowed_rate(now)
        if law.decides_by(now) is not None:
            break
    assert now < (law.decides_by(now) or 0) <= now + 500 * MILLISECOND
    assert not law.rises

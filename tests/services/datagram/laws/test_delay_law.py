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
    rate_wanting,
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


@given(st.floats(0.1, 1e4), st.integers(MILLISECOND, ROOM_NS))
@settings(deadline=None)
def test_the_rate_that_wants_a_delay_is_the_inverse(rate: float, room: int) -> None:
    assert rate_wanting(wanted_ns(rate, room), room) == pytest.approx(rate, rel=1e-3)


def thin_law(queueing: Duration, gap: Duration) -> tuple[DelayLaw, float, float]:
    """A law that decides at every message: what it has measured and what it allows at last."""
    law, now = DelayLaw(), BEGIN
    allowed = 0.0
    for step in range(12):
        now += gap
        law.arrived([queueing if step else 0], now)
        allowed = law.allowed_rate(now)
    return law, SECOND / gap, allowed


def test_a_thin_flow_does_not_answer_faster_than_its_messages_come() -> None:
    gap = 2 * SECOND
    _, rate, allowed = thin_law(round(wanted_ns(SECOND / gap, ROOM_NS)) + SECOND // 2, gap)
    # Half a second too much would halve the rate of a flow that decides every 50 ms.
    assert 0.7 * rate < allowed < 0.8 * rate


def test_a_flow_that_is_thinner_than_those_that_hold_the_queue_grows_quickly() -> None:
    gap = 2 * SECOND
    own, others = (round(wanted_ns(each, ROOM_NS)) for each in (0.5, 5.0))
    grown = [thin_law(delay, gap)[2] for delay in (own - 20 * MILLISECOND, others)]
    assert grown[1] > 1.2 * 0.5 > grown[0] > 0.5


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

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
from penstock.services.datagram.laws.drain import DRAIN_FOR_NS, Drain
from penstock.services.datagram.laws.granted import GrantedRates
from penstock.services.datagram.laws.queue_view import ROOM_NS, Least, QueueView
from penstock.services.datagram.laws.reception import ReceptionRate
from penstock.services.datagram.laws.rivals import ALONE_NS, PERSISTENT_NS, Rivals

BEGIN = 64 * SECOND + 10 * MILLISECOND
GAP_NS = 10 * MILLISECOND


def law_with_delay(queueing: Duration, offset: int = 0) -> tuple[DelayLaw, Instant]:
    """A law of a hundred messages a second that has seen an empty queue, and then this delay."""
    law, now = DelayLaw(), BEGIN
    for step in range(60):
        now += GAP_NS
        law.arrived([offset + (queueing if step > 20 else 0)], now)
    return law, now


@given(st.integers(-(10**18), 10**18))
@settings(deadline=None, max_examples=20)
def test_the_clocks_difference_does_not_matter(offset: int) -> None:
    law, _ = law_with_delay(40 * MILLISECOND, offset)
    assert law.queue.queueing_ns == 40 * MILLISECOND


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


# -- the queue ---------------------------------------------------------------------------------


def test_a_burst_is_no_standing_queue() -> None:
    law, now = law_with_delay(0)
    law.arrived([50 * MILLISECOND], now + MILLISECOND)
    assert law.queue.queueing_ns == 0


def test_the_room_is_the_longest_delay_once_something_was_lost() -> None:
    law, now = law_with_delay(30 * MILLISECOND)
    assert law.queue.room_ns(now) == ROOM_NS
    law.loss_event(now)
    law.arrived([30 * MILLISECOND], now)
    assert law.queue.room_ns(now) == 30 * MILLISECOND
    assert law.queue.doubted


def test_who_came_to_a_full_queue_knows_the_room_when_it_has_drained() -> None:
    view, now = QueueView(), BEGIN
    for delay in (80, 80, 80, 80, 0):
        now += 30 * MILLISECOND
        view.lost(now)
        view.arrived([delay * MILLISECOND], now)
    assert view.room_ns(now) == 80 * MILLISECOND


def test_a_clock_that_was_set_starts_the_delay_anew() -> None:
    law, now = law_with_delay(40 * MILLISECOND)
    law.clock_was_set()
    law.arrived([3600 * SECOND], now)
    assert law.queue.queueing_ns == 0


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_the_least_is_of_this_block_and_the_one_before(values: list[int]) -> None:
    least = Least(10)
    for at, value in enumerate(values):
        found = least.of(value, at)
        assert min(values[max(0, at - 21) : at + 1]) <= found
        assert found <= min(values[max(0, at - 9) : at + 1])


# -- rates -------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.5, 5.0, 100.0, 2000.0])
def test_a_regular_flow_is_measured_without_bias(rate: float) -> None:
    meter = ReceptionRate()
    for step in range(600):
        meter.add(1, BEGIN + round(step * SECOND / rate))
    assert meter.per_second(BEGIN + round(599 * SECOND / rate)) == pytest.approx(rate, rel=0.01)


def test_a_flow_that_stops_is_not_as_fast_as_before() -> None:
    meter = ReceptionRate()
    for step in range(10):
        meter.add(1, BEGIN + step * GAP_NS)
    assert (meter.per_second(BEGIN + 5 * SECOND) or 0) < 3.0


def test_a_growing_flow_is_read_at_its_present_quota() -> None:
    granted = GrantedRates()
    granted.add(10.0, 0)
    granted.add(20.0, SECOND)
    assert granted.present_rate(12.0, (0, SECOND), 0) == pytest.approx(22.0)
    assert granted.present_rate(5.0, (0, SECOND), 0) == pytest.approx(10.0)
    assert granted.present_rate(5.0, (-SECOND, SECOND), 0) == 5.0, "not known for the whole window"


# -- drains and rivals -------------------------------------------------------------------------


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


def test_a_rival_takes_the_law_out_of_force_until_a_common_instant() -> None:
    rivals, now = Rivals(), BEGIN
    rivals.look(200.0, high=False, now=now)
    for _ in range(PERSISTENT_NS // (50 * MILLISECOND) + 2):
        now += 50 * MILLISECOND
        rivals.look(80.0, high=True, now=now)
    assert rivals.present(now)
    assert 70.0 < rivals.least_rate(high=True) <= 80.0
    assert not rivals.present((now // ALONE_NS + 1) * ALONE_NS)


def test_a_link_that_loses_half_of_its_capacity_is_no_rival() -> None:
    rivals, now = Rivals(), BEGIN
    rivals.look(200.0, high=True, now=now)
    for step in range(200):
        now += 50 * MILLISECOND
        rivals.look(90.0, high=step < 20, now=now)
    assert not rivals.present(now)

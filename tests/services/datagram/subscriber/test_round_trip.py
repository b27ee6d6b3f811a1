"""Round trips across two clocks (Section III-B 4)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.subscriber.round_trip import RETRY_NS, RoundTripEstimate

from ..conftest import NOW

OFFSETS = st.integers(-(10**18), 10**18)


def estimate(
    offset: int, there: int = 20 * MILLISECOND, back: int = 30 * MILLISECOND
) -> tuple[RoundTripEstimate, int]:
    """An estimate after one echo; the publisher's clock is ahead by ``offset``."""
    trip = RoundTripEstimate(30 * SECOND)
    now = 10**19
    trip.asked(now)
    trip.echoed(now, now + there + offset, now + there + back)
    return trip, now + there + back


@given(OFFSETS)
@settings(deadline=None)
def test_the_clocks_difference_cancels(offset: int) -> None:
    trip, now = estimate(offset)
    assert trip.smoothed_ns == 50 * MILLISECOND
    for _ in range(250):
        now += MILLISECOND
        assert trip.publication(now - 80 * MILLISECOND + offset, now, None)
    assert trip.smoothed_ns is not None
    assert abs(trip.smoothed_ns - 100 * MILLISECOND) < MILLISECOND


@given(OFFSETS)
@settings(deadline=None)
def test_the_limiting_receiver_adds_its_own_reports_delay(offset: int) -> None:
    trip, now = estimate(offset)
    for _ in range(250):
        now += MILLISECOND
        delay = 40 * MILLISECOND + offset
        assert trip.publication(now - 70 * MILLISECOND + offset, now, delay)
    assert trip.smoothed_ns is not None
    assert abs(trip.smoothed_ns - 110 * MILLISECOND) < MILLISECOND


@given(st.integers(-(10**18), 10**18).filter(lambda jump: abs(jump) > SECOND))
@settings(deadline=None)
def test_a_clock_that_was_set_is_not_believed_and_an_echo_mends_it(jump: int) -> None:
    trip, now = estimate(0)
    before = trip.smoothed_ns
    assert not trip.publication(now - 30 * MILLISECOND + jump, now, None)
    assert trip.smoothed_ns == before
    assert trip.echo_wanted_at() <= now + RETRY_NS
    later = now + SECOND
    trip.asked(later)
    trip.echoed(later, later + 20 * MILLISECOND + jump, later + 60 * MILLISECOND)
    assert trip.smoothed_ns == 60 * MILLISECOND
    assert trip.publication(later + jump, later + 40 * MILLISECOND, None)


def test_an_echo_is_wanted_at_first_again_if_it_is_lost_and_every_half_minute() -> None:
    trip = RoundTripEstimate(30 * SECOND)
    assert trip.echo_wanted_at() == 0
    trip.asked(SECOND)
    assert trip.echo_wanted_at() == SECOND + RETRY_NS
    trip.echoed(SECOND, 5, SECOND + MILLISECOND)
    assert trip.echo_wanted_at() == 31 * SECOND + MILLISECOND


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    trip = RoundTripEstimate(30 * SECOND)
    trip.asked(SECOND)
    trip.echoed(SECOND - 1, 5, 2 * SECOND)
    assert trip.smoothed_ns is None


def test_at_a_loss_the_round_trip_of_the_message_behind_it_counts_if_it_is_longer() -> None:
    estimate = RoundTripEstimate(30 * SECOND)
    assert estimate.at_loss_ns is None
    estimate.asked(NOW)
    estimate.echoed(NOW, NOW, NOW + 30 * MILLISECOND)
    estimate.publication(NOW, NOW + 130 * MILLISECOND, 0)
    assert estimate.at_loss_ns == 130 * MILLISECOND
    estimate.publication(NOW, NOW + 20 * MILLISECOND, 0)
    assert estimate.at_loss_ns == estimate.smoothed_ns

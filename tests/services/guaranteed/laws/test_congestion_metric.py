"""The doubt-horizon rate of PDCC: equations 5 and 11, and the rules of the module."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.guaranteed.laws.congestion_metric import HorizonRate

SAMPLE = 100 * MILLISECOND
ALPHA = 0.1


def meter(start: int = 0) -> HorizonRate:
    return HorizonRate(
        start, start, alpha=ALPHA, sample_interval_ns=SAMPLE, stall_after_ns=2 * SECOND
    )


def test_a_live_edge_has_one() -> None:
    rate = meter()
    for now in range(SAMPLE, 5 * SECOND, SAMPLE):
        rate.advanced(now, now)
        rate.sample(now)

    assert rate.smoothed == pytest.approx(1.0)
    assert rate.latest == pytest.approx(1.0)


def test_equation_11_the_rate_is_tick_seconds_in_a_second() -> None:
    rate = meter()
    rate.advanced(SAMPLE // 2, SAMPLE)
    rate.sample(SAMPLE)

    assert rate.latest == 0.5


def test_equation_5_a_sample_counts_with_alpha() -> None:
    rate = meter()
    rate.advanced(0 + SAMPLE // 2, SAMPLE)
    rate.sample(SAMPLE)

    assert rate.smoothed == pytest.approx((1 - ALPHA) * 1.0 + ALPHA * 0.5)


def test_a_sample_over_several_intervals_is_weighted_by_their_number() -> None:
    """A stream of one message in three intervals is smoothed like one of three samples."""
    rate, thrice = meter(), meter()
    rate.advanced(3 * SAMPLE // 2, 3 * SAMPLE)
    rate.sample(3 * SAMPLE)
    for number in (1, 2, 3):
        thrice.advanced(number * SAMPLE // 2, number * SAMPLE)
        thrice.sample(number * SAMPLE)

    assert rate.smoothed == pytest.approx(thrice.smoothed)


def test_the_rate_is_measured_between_advances_and_not_on_the_clock() -> None:
    """A stream of three messages a second never seems to stall or to rush."""
    rate = meter()
    lowest, highest = 1.0, 1.0
    step = 330 * MILLISECOND
    for now in range(SAMPLE, 20 * SECOND, SAMPLE):
        arrived = now // step * step
        if arrived > (now - SAMPLE) // step * step:
            rate.advanced(arrived, arrived)
        rate.sample(now)
        lowest, highest = min(lowest, rate.latest), max(highest, rate.latest)

    assert (lowest, highest) == (1.0, 1.0)


def test_a_horizon_that_stands_still_for_long_counts_as_stalled() -> None:
    rate = meter()
    rate.sample(2 * SECOND)
    assert rate.smoothed == 1.0

    rate.sample(2 * SECOND + 1)
    assert rate.latest == 0.0
    assert rate.smoothed == pytest.approx(1 - ALPHA)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_entering_and_leaving_recovery_sets_the_smoothed_rate(value: float) -> None:
    rate = meter()
    rate.advanced(SAMPLE // 2, SAMPLE)
    rate.sample(SAMPLE)
    rate.restart(value)

    assert rate.smoothed == value
    assert rate.latest == 0.5


def test_the_latest_rate_is_that_of_the_last_second() -> None:
    """A burst of 100 ms in a second of half the pace is a tenth of that second."""
    rate = meter()
    horizon = 0
    for now in range(SAMPLE, 3 * SECOND + 1, SAMPLE):
        horizon += 2 * SAMPLE if now == 25 * SAMPLE else SAMPLE // 2
        rate.advanced(horizon, now)
        rate.sample(now)

    assert rate.latest == pytest.approx(0.5 * 0.9 + 2 * 0.1)


def test_the_latest_rate_forgets_what_was_before_a_recovery() -> None:
    rate = meter()
    rate.advanced(SAMPLE, SAMPLE)
    rate.sample(SAMPLE)
    rate.restart(0.0)
    rate.advanced(SAMPLE + 3 * SAMPLE, 2 * SAMPLE)
    rate.sample(2 * SAMPLE)

    assert rate.latest == pytest.approx(3.0)

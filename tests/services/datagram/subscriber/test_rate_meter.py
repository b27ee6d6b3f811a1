"""The window follows the flow."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.subscriber.rate_meter import REMEMBERED_MESSAGES, RateMeter


@pytest.mark.parametrize("rate", [5, 20, 100, 1000])
def test_a_steady_flow_is_measured(rate: int) -> None:
    meter = RateMeter(0)
    now = 0
    for _ in range(5 * rate):
        now += SECOND // rate
        meter.add(now)
    assert meter.per_second(now) == pytest.approx(rate, rel=0.15)


def test_a_thick_flow_that_stops_is_forgotten() -> None:
    meter = RateMeter(0)
    for at in range(100):
        meter.add(at * MILLISECOND)
    assert meter.per_second(10 * SECOND) == 0.0


def test_what_is_remembered_is_bounded() -> None:
    meter = RateMeter(0)
    for _ in range(3 * REMEMBERED_MESSAGES):
        meter.add(1)
    assert meter.total == 3 * REMEMBERED_MESSAGES
    # The window begins a nanosecond late, behind what was forgotten.
    assert meter.per_second(SECOND // 10) <= REMEMBERED_MESSAGES * 10 * 1.001


def test_beyond_what_is_remembered_the_window_is_shorter_and_not_the_rate_lower() -> None:
    meter = RateMeter(0)
    for number in range(20_000):
        meter.add(number * 10_000)
    assert meter.per_second(20_000 * 10_000) == pytest.approx(100_000, rel=0.01)

"""The reception rate of one session."""

from __future__ import annotations

import pytest

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.reception import (
    OUTAGE_INTERVALS,
    OUTAGE_NS,
    ReceptionRate,
)

BEGIN = 64 * SECOND
GAP_NS = 10 * MILLISECOND


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


def test_after_an_outage_the_rate_is_measured_anew() -> None:
    rate = ReceptionRate()
    for number in range(50):
        assert not rate.add(1, number * 20 * MILLISECOND)
    back = SECOND + OUTAGE_NS + 1
    assert rate.add(1, back)
    assert rate.per_second(back) is None
    rate.add(1, back + 20 * MILLISECOND)
    assert rate.per_second(back + 20 * MILLISECOND) == 50.0


def test_a_thin_flow_that_loses_a_few_messages_has_no_outage() -> None:
    rate = ReceptionRate()
    for number in range(5):
        rate.add(1, number * SECOND)
    assert not rate.add(1, (4 + OUTAGE_INTERVALS) * SECOND)

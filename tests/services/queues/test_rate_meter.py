"""Messages a second over the last seconds."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.rate_meter import RateMeter


def test_a_rate_is_over_the_last_seconds():
    meter = RateMeter(0)
    for second in range(30):
        meter.add(100, second * SECOND)
    assert meter.per_second(29 * SECOND) == 100
    assert meter.per_second(60 * SECOND) == 0
    assert meter.total == 3000

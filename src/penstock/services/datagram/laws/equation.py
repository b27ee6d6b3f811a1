"""The TCP response function: equation (1) of Section II, in messages a second.

    T = 1 / (RTT · (√(2p/3) + 12·√(3p/8)·p·(1 + 32p²)))

1. ``p`` is the loss event rate.  Without any loss (p = 0) there is no limit.
2. The copy in Algorithm 1 (line 36) is garbled: it gives 9.9 for 1223 at p = 0.0001.
3. The function falls with p, so it has an inverse, which is found by bisection: at the first loss,
   the interval before it is taken to be the one for which the equation gives the present rate.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Final

from penstock.core.clock import SECOND, Duration

BISECTIONS: Final = 50
"""Halvings of the exponent's range: far below the rounding of a float."""

SMALLEST_RATE: Final = 1e-9
"""A loss in a thousand million messages is as good as none."""


def allowed_rate(loss_event_rate: float, round_trip_ns: Duration) -> float:
    """Messages a second that a TCP flow would send; infinite without losses."""
    p = min(1.0, loss_event_rate)
    if p <= 0 or round_trip_ns <= 0:
        return inf
    cost = sqrt(2 * p / 3) + 12 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)
    return SECOND / (round_trip_ns * cost)


def loss_event_rate_for(rate_msgs_per_s: float, round_trip_ns: Duration) -> float:
    """The loss event rate at which the equation allows this rate; between 1e-9 and 1."""
    low, high = SMALLEST_RATE, 1.0
    for _ in range(BISECTIONS):
        middle = sqrt(low * high)
        if allowed_rate(middle, round_trip_ns) > rate_msgs_per_s:
            low = middle
        else:
            high = middle
    return sqrt(low * high)

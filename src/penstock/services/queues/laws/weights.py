"""The paper's weights (Section IV.B, Algorithm 1).

1. A queue's weight for the next period is its part of all consumption in the last one (equation
   6), in hundredths: the granularity that makes weights usable as turns.
2. A queue whose load exceeds MAX_LOAD loses a tenth of its weight; the other weights are not
   raised.
3. A weight is at least 1: otherwise a queue that was idle for one period would never get messages
   again.  If nothing was consumed at all, the weights do not change (equation 6 would divide 0 by
   0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GRANULARITY: Final = 100


def paper_weights(
    rates_msgs_per_s: Mapping[str, float],
    loads: Mapping[str, int],
    max_load: int,
    before: Mapping[str, int],
) -> dict[str, int]:
    """The weight of each queue from its consumption and load."""
    total = sum(rates_msgs_per_s.values())
    weights = {}
    for queue, rate in rates_msgs_per_s.items():
        weight = GRANULARITY * rate / total if total > 0 else before.get(queue, 1)
        if loads[queue] > max_load:
            weight = weight * 9 / 10
        weights[queue] = max(1, round(weight))
    return weights

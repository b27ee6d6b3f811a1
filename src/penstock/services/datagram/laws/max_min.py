"""Max-min shares: what a subscriber may receive, divided among its filters (Section III-B 5).

Nobody gets more than it demands; whoever demands less than its share leaves the rest to the others.
Weights are the user's priorities: of what is scarce, a filter of weight 2 gets twice as much as one
of weight 1.
"""

from __future__ import annotations

from collections.abc import Sequence


def max_min_shares(
    capacity: float, demands: Sequence[float], weights: Sequence[float]
) -> list[float]:
    """A share for each demand; together they are the capacity, or all demands if that is less."""
    shares = [0.0] * len(demands)
    left = capacity
    weight_left = sum(weights)
    # In the order in which they are satisfied, so that one pass is enough.
    for each in sorted(range(len(demands)), key=lambda each: demands[each] / weights[each]):
        fair = left * weights[each] / weight_left if weight_left > 0 else 0.0
        shares[each] = max(0.0, min(demands[each], fair))
        left -= shares[each]
        weight_left -= weights[each]
    return shares

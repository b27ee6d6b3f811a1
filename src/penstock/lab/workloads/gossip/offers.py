"""When a peer offers its publications, from a rate that may follow a curve.

A publication falls due whenever the area under the curve has grown by one.  The first one is due
after a random part of that, so that several peers are not synchronised.
"""

from __future__ import annotations

from math import sqrt
from random import Random
from typing import Final

from penstock.core.clock import Instant, in_seconds, seconds
from penstock.lab.scenario.curve import Curve, points_of, value_at

LONGEST_S: Final = 1e9
"""What falls due later than this never does."""


class OfferTimes:
    """The instants at which one peer offers, one after another."""

    def __init__(
        self, rate: Curve, random: Random, *, began_at: Instant, now: Instant, stop_at: Instant
    ) -> None:
        """The curve is over the seconds since ``began_at``; nothing is due from ``stop_at`` on."""
        self._rate = rate
        self._began_at = began_at
        self._stop_at = stop_at
        self._at_s = in_seconds(now - began_at)
        self.next_at: Instant | None = self._after(random.random())

    def advance(self) -> None:
        """Move to the next publication."""
        self.next_at = self._after(1.0)

    def _after(self, publications: float) -> Instant | None:
        at_s = second_of_area(self._rate, self._at_s, publications)
        if at_s is None:
            return None
        self._at_s = at_s
        at = self._began_at + seconds(at_s)
        return at if at < self._stop_at else None


def second_of_area(curve: Curve, from_s: float, area: float) -> float | None:
    """The second at which the area under the curve since ``from_s`` is this; None if never."""
    points = points_of(curve)
    for point in points:
        if point.at_s <= from_s:
            continue
        length_s = point.at_s - from_s
        begin, end = value_at(curve, from_s), point.value
        part = (begin + end) / 2 * length_s
        if part >= area:
            return from_s + _within(begin, (end - begin) / length_s, area)
        area -= part
        from_s = point.at_s
    last = points[-1].value
    return from_s + area / last if last > area / LONGEST_S else None


def _within(value: float, slope: float, area: float) -> float:
    """How long a line that begins at a value takes to cover an area."""
    return 2 * area / (value + sqrt(max(0.0, value * value + 2 * slope * area)))

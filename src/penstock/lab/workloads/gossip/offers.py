"""When a peer offers its publications, from a rate that may follow a curve.

A publication falls due whenever the area under the curve has grown by one.  The first one is due
after a random part of that, so that several peers are not synchronised.
"""

from __future__ import annotations

from math import isinf
from random import Random

from penstock.core.clock import Instant, in_seconds, seconds
from penstock.lab.scenario.curve import Curve, second_of_area


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
        if isinf(at_s):
            return None
        self._at_s = at_s
        at = self._began_at + seconds(at_s)
        return at if at < self._stop_at else None

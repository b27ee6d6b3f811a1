"""When a datagram publisher publishes: at a rate that follows a curve.

The number of messages that are due at an instant is the integral of the rate, which is linear
between the points of the curve; so messages are even at a constant rate, and none is due while the
rate is 0.  The first one has a random phase, so that several publishers are not synchronised.
"""

from __future__ import annotations

from bisect import bisect_right
from math import inf, sqrt

from penstock.core.clock import NEVER, Instant, in_seconds, seconds
from penstock.lab.scenario.curve import Curve, points_of, value_at


class CurvePace:
    """The instants of the messages of one publisher."""

    def __init__(self, rate: Curve, began_at: Instant, start_at: Instant, phase: float) -> None:
        """The curve begins at ``began_at``; ``phase`` is a part of one message."""
        self._rate = rate
        self._points = points_of(rate)
        self._began_at = began_at
        self._at_s = in_seconds(start_at - began_at)
        self.next_at: Instant = start_at
        self._advance(phase)

    def advance(self) -> None:
        """Move to the next message."""
        self._advance(1.0)

    def _advance(self, messages: float) -> None:
        """Move on until this many more messages are due; to ``NEVER`` if that does not happen."""
        points = self._points
        place = bisect_right(points, self._at_s, key=lambda point: point.at_s)
        while place < len(points):
            there = points[place]
            length_s = there.at_s - self._at_s
            rate = value_at(self._rate, self._at_s)
            until_there = length_s * (rate + there.value) / 2
            if until_there >= messages and until_there > 0:
                self._arrive(_time_for(messages, rate, (there.value - rate) / length_s))
                return
            messages -= until_there
            self._at_s = there.at_s
            place += 1
        last = points[-1].value
        self._arrive(messages / last if last else inf)

    def _arrive(self, after_s: float) -> None:
        self._at_s += after_s
        self.next_at = NEVER if self._at_s == inf else self._began_at + seconds(self._at_s)


def _time_for(messages: float, rate: float, slope: float) -> float:
    """How long a rate that changes linearly takes for so many messages."""
    # The usual formula divides by the slope, which may be 0.
    root = sqrt(max(0.0, rate * rate + 2 * slope * messages))
    return 2 * messages / (rate + root) if messages else 0.0

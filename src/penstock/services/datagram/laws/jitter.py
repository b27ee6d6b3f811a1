"""The jitter of a path: how much the delays of messages in a row differ when no queue does it.

1. The difference of two delays in a row is smoothed with a weight of one sixteenth, as RFC 3550
   (Section 6.4.1) defines the interarrival jitter.  The difference of the clocks cancels.
2. A queue that others fill and drain adds to it.  The least of the last minutes counts, which is of
   a calm time: a drain at the latest.
3. Before ``SMOOTHING`` differences nothing is known, and the jitter counts as 0.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.laws.least import Least

SMOOTHING: Final = 16
"""RFC 3550."""


class PathJitter:
    """The jitter that one session has measured."""

    __slots__ = ("_differences", "_last_ns", "_least", "_smoothed_ns", "least_ns")

    def __init__(self, window_ns: Duration) -> None:
        """The least is over at least ``window_ns``."""
        self.least_ns: Duration = 0
        self._least = Least(window_ns)
        self._smoothed_ns: Duration = 0
        self._differences = 0
        self._last_ns: Duration | None = None

    def clock_was_set(self) -> None:
        """The next delay is by another clock."""
        self._last_ns = None

    def arrived(self, one_way_ns: Duration, now: Instant) -> None:
        """Take in the delay of the next message."""
        last, self._last_ns = self._last_ns, one_way_ns
        if last is None:
            return
        self._differences = min(SMOOTHING, self._differences + 1)
        # The mean at first: a sixteenth of the first difference would be too little.
        self._smoothed_ns += (abs(one_way_ns - last) - self._smoothed_ns) // self._differences
        if self._differences >= SMOOTHING:
            self.least_ns = self._least.of(self._smoothed_ns, now)

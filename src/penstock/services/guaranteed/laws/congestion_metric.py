"""The doubt-horizon rate: how well an edge keeps up with a stream.

The metric of PDCC (Section 3.1, equation 4 as the experiments use it, equation 11): tick seconds
that the horizon advances in a second.  It is 1 at an edge that keeps up, less at one that falls
behind, and more at one that catches up.

1. It is sampled every ``sample_interval_ns`` and smoothed with ``alpha`` for each sample
   (equation 5).
2. A sample is measured between two advances of the horizon, not between two marks on the clock: a
   stream of a few messages a second would otherwise seem to stall and rush alternately.
3. A horizon that has not moved for longer than the stream may be silent counts as standing still.
4. The smoothed value starts at 1, is set to 1 on leaving recovery, and to 0 on entering it.
5. ``latest`` is the rate over the last second, measured between advances too: one sample of 100 ms
   says more about the scheduling of the links than about their capacity.
"""

from __future__ import annotations

from collections import deque

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.intervals import Tick


class HorizonRate:
    """The smoothed rate of one doubt horizon."""

    __slots__ = (
        "_advanced_at",
        "_alpha",
        "_at",
        "_horizon",
        "_marks",
        "_sample_interval_ns",
        "_seen",
        "_stall_after_ns",
        "latest",
        "smoothed",
    )

    def __init__(
        self,
        horizon: Tick,
        now: Instant,
        *,
        alpha: float,
        sample_interval_ns: Duration,
        stall_after_ns: Duration,
    ) -> None:
        """``stall_after_ns`` is how long a healthy stream may go without an advance."""
        self._alpha = alpha
        self._sample_interval_ns = sample_interval_ns
        self._stall_after_ns = stall_after_ns
        self._horizon = horizon
        self._seen = horizon
        self._at = now
        self._advanced_at = now
        self._marks: deque[tuple[Instant, Tick]] = deque([(now, horizon)])
        """Where the horizon was at each sample of the last second, and at the one before it."""
        self.smoothed = 1.0
        self.latest = 1.0

    def advanced(self, horizon: Tick, now: Instant) -> None:
        self._seen = horizon
        self._advanced_at = now

    def sample(self, now: Instant) -> None:
        """Take a sample; called every sample interval."""
        if self._advanced_at > self._at:
            elapsed = self._advanced_at - self._at
            self._smooth((self._seen - self._horizon) / elapsed, elapsed)
            self._at = self._advanced_at
            self._horizon = self._seen
            self.latest = self._rate_of_the_last_second()
        elif now - self._at > self._stall_after_ns:
            self._smooth(0.0, self._sample_interval_ns)
            self.latest = 0.0

    def _rate_of_the_last_second(self) -> float:
        marks = self._marks
        marks.append((self._at, self._horizon))
        while marks[1][0] <= self._at - SECOND:
            marks.popleft()
        at, horizon = marks[0]
        return (self._horizon - horizon) / (self._at - at)

    def _smooth(self, rate: float, elapsed: Duration) -> None:
        """Weight a sample by the number of sample intervals that it covers."""
        kept = (1 - self._alpha) ** max(1.0, elapsed / self._sample_interval_ns)
        self.smoothed = kept * self.smoothed + (1 - kept) * rate

    def restart(self, value: float) -> None:
        """Set the smoothed rate on entering recovery (0) or leaving it (1)."""
        self.smoothed = value
        while len(self._marks) > 1:
            self._marks.popleft()

"""Messages a second over the last few seconds, for people who look."""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import SECOND, Instant

WINDOW_SECONDS: Final = 10
"""Long enough to be steady, short enough to show a change while somebody watches."""


class RateMeter:
    """Counts in buckets of one second."""

    __slots__ = ("_buckets", "_started", "total")

    def __init__(self, now: Instant) -> None:
        """Nothing was counted."""
        self._buckets: deque[tuple[int, int]] = deque()
        self._started = now
        self.total = 0

    def add(self, count: int, now: Instant) -> None:
        """So many happened now."""
        self.total += count
        second = now // SECOND
        if self._buckets and self._buckets[-1][0] == second:
            self._buckets[-1] = (second, self._buckets[-1][1] + count)
        else:
            self._buckets.append((second, count))
            self._forget(second)

    def per_second(self, now: Instant) -> float:
        """The mean over the window, or since the start if that is less."""
        self._forget(now // SECOND)
        span_ns = min(max(now - self._started, SECOND), WINDOW_SECONDS * SECOND)
        return sum(count for _, count in self._buckets) * SECOND / span_ns

    def _forget(self, second: int) -> None:
        while self._buckets and self._buckets[0][0] <= second - WINDOW_SECONDS:
            self._buckets.popleft()

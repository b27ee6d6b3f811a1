"""What a pubend publishes: its rate over the last second, and how dense its stream is where."""

from __future__ import annotations

from bisect import bisect_left

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.intervals import Tick

BUCKET: Duration = 100 * MILLISECOND
"""The grain of the record."""

REMEMBERED: Duration = 600 * SECOND
"""How far back the density of the stream is known; before that the oldest value stands for it."""


class PublicationHistory:
    """Rows published, in buckets of stream time."""

    __slots__ = ("_buckets", "_forgotten", "_totals")

    def __init__(self) -> None:
        """Nothing was published."""
        self._buckets: list[int] = []
        self._totals: list[int] = []
        self._forgotten = 0

    def published(self, tick: Tick, rows: int) -> None:
        """Rows were placed at a tick."""
        bucket = tick // BUCKET
        if self._buckets and self._buckets[-1] >= bucket:
            self._totals[-1] += rows
            return
        total = self._totals[-1] if self._totals else self._forgotten
        self._buckets.append(bucket)
        self._totals.append(total + rows)
        if len(self._buckets) > 2 * REMEMBERED // BUCKET:
            half = len(self._buckets) // 2
            self._forgotten = self._totals[half - 1]
            del self._buckets[:half], self._totals[:half]

    def count_between(self, low: Tick, high: Tick) -> int:
        """Rows in ``[low, high)``, to the grain of a bucket."""
        return max(0, self._total_at(high) - self._total_at(low))

    def _total_at(self, tick: Tick) -> int:
        """Rows in all buckets that end at or before the tick."""
        index = bisect_left(self._buckets, tick // BUCKET)
        return self._totals[index - 1] if index else self._forgotten

    def density(self, tick: Tick) -> float:
        """Rows in a second of the stream around a tick."""
        buckets = self._buckets
        if not buckets:
            return 0.0
        low = max(tick - SECOND // 2, buckets[0] * BUCKET)
        high = min(low + SECOND, (buckets[-1] + 1) * BUCKET)
        low = max(buckets[0] * BUCKET, high - SECOND)
        if high <= low:
            return 0.0
        return self.count_between(low, high) * SECOND / (high - low)

    def rate(self, now: Instant) -> float:
        """Rows in the last second, up to the end of the last whole bucket."""
        end = now // BUCKET
        newest = bisect_left(self._buckets, end)
        oldest = bisect_left(self._buckets, end - SECOND // BUCKET)
        if newest == oldest:
            return 0.0
        before = self._totals[oldest - 1] if oldest else self._forgotten
        return float(self._totals[newest - 1] - before)

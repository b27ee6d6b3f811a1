"""Rate meters: how many messages a second, measured in three ways.

``WindowRateMeter`` counts over the last ten seconds, for people who watch a queue.

1. It counts in buckets of one second, so it costs one addition a batch and ten numbers.
2. The rate is the mean over the window, or since the start if that is shorter.

``AdaptiveRateMeter`` gives a rate law the rate of a flow as early as the flow's density allows.

3. A window of fixed length is too long for a dense flow or too short for a sparse one.  So the rate
   is taken over ``SHORTEST_WINDOW_NS``, over the last ``ENOUGH_MESSAGES`` if those took longer, and
   not over more than ``LONGEST_WINDOW_NS``.
4. If that holds fewer than ``THIN_MESSAGES``, the rate is that of the intervals between the last
   ``THIN_MESSAGES``, or less if the next one is overdue.  A count by a time would be too high by a
   message when it is asked at an arrival: half of the rate, if two came in the window.  A flow that
   is silent for the window and ``STOPPED_INTERVALS`` intervals has stopped.
5. It remembers the instant of each message in the window, ``REMEMBERED_MESSAGES`` at most.

``RateHistory`` tells the rate of a stream now and at any point of its past.

6. It keeps running totals in buckets of 100 ms of stream time, so that the rows between two ticks
   are one subtraction.
7. It remembers at least ``REMEMBERED``, and twice as much at most.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.intervals import Tick

WINDOW_SECONDS: Final = 10
"""Long enough to be steady, short enough to show a change to a person who watches."""

SHORTEST_WINDOW_NS: Final[Duration] = 100 * MILLISECOND
"""Two reports of the datagram service: a change shows at once."""

ENOUGH_MESSAGES: Final = 16
"""Sixteen messages of a Poisson flow tell its rate to a quarter."""

LONGEST_WINDOW_NS: Final[Duration] = 2 * SECOND
"""A person who stops a flow sees it in the next report but one."""

THIN_MESSAGES: Final = 5
"""Four intervals: below this the message too many is a quarter or more of the rate."""

STOPPED_INTERVALS: Final = 16
"""If half of all messages are lost, one flow in 65,000 loses sixteen in a row."""

REMEMBERED_MESSAGES: Final = 4096
"""At more than 40,000 messages a second the window is shorter than ``SHORTEST_WINDOW_NS``."""

BUCKET: Duration = 100 * MILLISECOND
"""The resolution of a history."""

REMEMBERED: Duration = 600 * SECOND
"""How far back a history reaches; before that the oldest value stands for it."""


class WindowRateMeter:
    """The mean rate over the last ten seconds."""

    __slots__ = ("_buckets", "_started", "total")

    def __init__(self, now: Instant) -> None:
        self._buckets: deque[tuple[int, int]] = deque()
        self._started = now
        self.total = 0

    def add(self, count: int, now: Instant) -> None:
        """Count messages at this instant."""
        self.total += count
        second = now // SECOND
        if self._buckets and self._buckets[-1][0] == second:
            self._buckets[-1] = (second, self._buckets[-1][1] + count)
        else:
            self._buckets.append((second, count))
            self._forget(second)

    def per_second(self, now: Instant) -> float:
        """The mean over the window, or since the start if that is shorter."""
        self._forget(now // SECOND)
        span_ns = min(max(now - self._started, SECOND), WINDOW_SECONDS * SECOND)
        return sum(count for _, count in self._buckets) * SECOND / span_ns

    def _forget(self, second: int) -> None:
        while self._buckets and self._buckets[0][0] <= second - WINDOW_SECONDS:
            self._buckets.popleft()


class AdaptiveRateMeter:
    """The rate of one flow over a window as long as the flow needs."""

    __slots__ = ("_arrivals", "_began", "total")

    def __init__(self, now: Instant) -> None:
        self._arrivals: deque[Instant] = deque()
        self._began = now
        self.total = 0

    def add(self, now: Instant) -> None:
        """Count one message at this instant."""
        arrivals = self._arrivals
        arrivals.append(now)
        self.total += 1
        if arrivals[0] < now - SHORTEST_WINDOW_NS:
            while len(arrivals) > ENOUGH_MESSAGES and arrivals[0] < now - SHORTEST_WINDOW_NS:
                arrivals.popleft()
        if len(arrivals) > REMEMBERED_MESSAGES:
            # The window now begins after what was forgotten: a rate over the whole window would
            # never exceed what is remembered.
            self._began = arrivals.popleft()

    def per_second(self, now: Instant) -> float:
        """The rate at present."""
        arrivals = self._arrivals
        while len(arrivals) > THIN_MESSAGES and (
            arrivals[0] < now - LONGEST_WINDOW_NS
            or (len(arrivals) > ENOUGH_MESSAGES and arrivals[0] < now - SHORTEST_WINDOW_NS)
        ):
            arrivals.popleft()
        if len(arrivals) < THIN_MESSAGES or arrivals[0] < now - LONGEST_WINDOW_NS:
            return self._of_intervals(now)
        since = min(arrivals[0], now - SHORTEST_WINDOW_NS)
        return len(arrivals) * SECOND / max(1, now - max(since, self._began))

    def _of_intervals(self, now: Instant) -> float:
        """Rule 4."""
        arrivals = self._arrivals
        if len(arrivals) < 2:
            return len(arrivals) * SECOND / max(LONGEST_WINDOW_NS, now - self._began)
        first, last, intervals = arrivals[0], arrivals[-1], len(arrivals) - 1
        silent = now - last
        if silent > LONGEST_WINDOW_NS and silent * intervals > STOPPED_INTERVALS * (last - first):
            return 0.0
        lasted = max(last - first, (now - first) * intervals // (intervals + 1))
        return intervals * SECOND / max(1, lasted)


class RateHistory:
    """Rows of one stream, in buckets of stream time."""

    __slots__ = ("_buckets", "_forgotten", "_totals")

    def __init__(self) -> None:
        self._buckets: list[int] = []
        self._totals: list[int] = []
        """Rows up to and including each bucket."""
        self._forgotten = 0
        """Rows before the first bucket."""

    def add(self, tick: Tick, rows: int) -> None:
        """Count rows at a tick; one before the newest bucket counts in that bucket."""
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
        """Rows in ``[low, high)``, rounded to whole buckets."""
        return max(0, self._total_at(high) - self._total_at(low))

    def _total_at(self, tick: Tick) -> int:
        """Rows in all buckets that end at or before the tick."""
        index = bisect_left(self._buckets, tick // BUCKET)
        return self._totals[index - 1] if index else self._forgotten

    def count_within(self, low: Tick, high: Tick) -> float:
        """Rows in ``[low, high)``; those of a bucket count as evenly spread over it."""
        return max(0.0, self._spread_total_at(high) - self._spread_total_at(low))

    def _spread_total_at(self, tick: Tick) -> float:
        index = bisect_left(self._buckets, tick // BUCKET)
        below = self._totals[index - 1] if index else self._forgotten
        if index == len(self._buckets) or self._buckets[index] != tick // BUCKET:
            return float(below)
        return below + (self._totals[index] - below) * (tick % BUCKET) / BUCKET

    def density(self, tick: Tick) -> float:
        """Rows per second in the second of the stream around a tick."""
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
        """Rows in the last second that ended with a whole bucket."""
        end = now // BUCKET
        newest = bisect_left(self._buckets, end)
        oldest = bisect_left(self._buckets, end - SECOND // BUCKET)
        if newest == oldest:
            return 0.0
        before = self._totals[oldest - 1] if oldest else self._forgotten
        return float(self._totals[newest - 1] - before)

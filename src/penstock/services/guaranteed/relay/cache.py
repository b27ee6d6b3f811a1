"""The latest live knowledge of a stream, up to a bound in bytes.

Live knowledge arrives in order, so the cache is a queue of frames: new ones are appended, and the
oldest are dropped when the bound is exceeded.  There are gaps between frames where one was lost on
the way; a frame that does not lie behind the last one is not kept.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from penstock.content.rows.frame import Frame
from penstock.core.intervals import Interval, Tick

COMPACT_AT: Final = 4096
"""How many dropped frames are removed from the front of the list at once: removing each alone would
move the whole list."""

DROPPED: Final = Frame(0, 0)
"""Replaces a dropped frame, which may be a megabyte, until its place is removed."""


class RelayCache:
    """A bounded queue of frames that answers for intervals."""

    __slots__ = ("_end", "_frames", "_limit_bytes", "_lows", "_start", "weight")

    def __init__(self, limit_bytes: int) -> None:
        """Keep frames of at most ``limit_bytes`` in total."""
        self._limit_bytes = limit_bytes
        self._lows: list[Tick] = []
        self._frames: list[Frame] = []
        self._start = 0
        self._end: Tick = -1
        self.weight = 0

    def add(self, frame: Frame) -> None:
        """Keep a frame that lies behind all others."""
        if frame.low < self._end:
            return
        self._lows.append(frame.low)
        self._frames.append(frame)
        self._end = frame.high
        self.weight += frame.weight
        while self.weight > self._limit_bytes:
            self.weight -= self._frames[self._start].weight
            self._frames[self._start] = DROPPED
            self._start += 1
        if self._start >= COMPACT_AT:
            del self._lows[: self._start], self._frames[: self._start]
            self._start = 0

    def find(
        self, low: Tick, high: Tick, most: int = 0, most_bytes: int = 0
    ) -> tuple[list[Frame], list[Interval], Tick]:
        """The frames of ``[low, high)``, the gaps between them, and the end of what was looked at.

        It stops after ``most`` frames, and after the frame with which they exceed ``most_bytes``,
        unless these are 0.
        """
        count_bytes = 0
        found: list[Frame] = []
        gaps: list[Interval] = []
        at = low
        first = max(bisect_right(self._lows, low, self._start) - 1, self._start)
        for number in range(first, len(self._frames)):
            frame = self._frames[number]
            if frame.low >= high:
                break
            if frame.high <= at:
                continue
            if (most and len(found) == most) or (most_bytes and count_bytes >= most_bytes):
                return found, gaps, at
            if frame.low > at:
                gaps.append((at, frame.low))
                at = frame.low
            found.append(frame.slice(at, high))
            count_bytes += found[-1].weight
            at = min(frame.high, high)
        if at < high:
            gaps.append((at, high))
        return found, gaps, high

    def __len__(self) -> int:
        """How many frames are kept."""
        return len(self._frames) - self._start

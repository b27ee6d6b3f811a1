"""Sets of ticks as sorted, disjoint, half-open intervals.

The theory in four rules:

1. An interval ``(low, high)`` holds the ticks ``low <= tick < high``; ``low < high`` always.
2. A set is the sorted list of its maximal intervals: no two touch or overlap, so every set of
   ticks has exactly one representation and equality is equality of lists.
3. Adding and removing an interval cost a binary search and a splice, whatever its length.
4. The prefix of a set from a tick is the end of the interval that holds the tick, or the tick
   itself: this is how a doubt horizon moves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Tick: TypeAlias = int
Interval: TypeAlias = tuple[Tick, Tick]


class IntervalSet:
    """A mutable set of ticks."""

    __slots__ = ("_highs", "_lows")

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        """Start from intervals in any order, overlapping or not."""
        self._lows: list[Tick] = []
        self._highs: list[Tick] = []
        for low, high in intervals:
            self.add(low, high)

    def add(self, low: Tick, high: Tick) -> None:
        """Put every tick of ``[low, high)`` into the set."""
        if low >= high:
            return
        lows, highs = self._lows, self._highs
        # Most sets grow at their end, where no search is needed.
        if not highs or low > highs[-1]:
            lows.append(low)
            highs.append(high)
            return
        if low >= lows[-1]:
            if high > highs[-1]:
                highs[-1] = high
            return
        # Intervals first..last-1 overlap or touch [low, high); they are merged into one.
        first = bisect_left(highs, low)
        last = bisect_right(lows, high)
        if first < last:
            low = min(low, lows[first])
            high = max(high, highs[last - 1])
        lows[first:last] = [low]
        highs[first:last] = [high]

    def remove(self, low: Tick, high: Tick) -> None:
        """Take every tick of ``[low, high)`` out of the set."""
        if low >= high:
            return
        lows, highs = self._lows, self._highs
        # Most sets shrink at their start.
        if lows and low <= lows[0] and high < highs[0]:
            lows[0] = max(lows[0], high)
            return
        first = bisect_right(highs, low)
        last = bisect_left(lows, high)
        if first >= last:
            return
        kept_lows: list[Tick] = []
        kept_highs: list[Tick] = []
        if lows[first] < low:
            kept_lows.append(lows[first])
            kept_highs.append(low)
        if highs[last - 1] > high:
            kept_lows.append(high)
            kept_highs.append(highs[last - 1])
        lows[first:last] = kept_lows
        highs[first:last] = kept_highs

    def prefix_end(self, start: Tick) -> Tick:
        """The first tick at or above ``start`` that is not in the set."""
        index = bisect_right(self._lows, start) - 1
        if index >= 0 and self._highs[index] > start:
            return self._highs[index]
        return start

    def gaps(self, low: Tick, high: Tick) -> list[Interval]:
        """The maximal intervals of ``[low, high)`` that are not in the set."""
        missing: list[Interval] = []
        at = low
        for held_low, held_high in self.within(low, high):
            if at < held_low:
                missing.append((at, held_low))
            at = held_high
        if at < high:
            missing.append((at, high))
        return missing

    def within(self, low: Tick, high: Tick) -> list[Interval]:
        """The parts of the set that lie in ``[low, high)``."""
        lows, highs = self._lows, self._highs
        if low >= high or not lows:
            return []
        first = bisect_right(highs, low)
        last = bisect_left(lows, high)
        if last - first == 1 and lows[first] <= low and highs[first] >= high:
            return [(low, high)]
        return [(max(lows[i], low), min(highs[i], high)) for i in range(first, last)]

    def covers(self, low: Tick, high: Tick) -> bool:
        """Whether every tick of ``[low, high)`` is in the set."""
        return low >= high or self.prefix_end(low) >= high

    def __contains__(self, tick: Tick) -> bool:
        """Whether one tick is in the set."""
        return self.prefix_end(tick) > tick

    def __iter__(self) -> Iterator[Interval]:
        """The maximal intervals in order."""
        return zip(self._lows, self._highs, strict=True)

    @property
    def lowest(self) -> Tick:
        """The first tick of a set that is not empty."""
        return self._lows[0]

    def forget_lowest(self, most: int) -> None:
        """Take out the lowest intervals until no more than ``most`` are left."""
        surplus = len(self._lows) - most
        if surplus > 0:
            del self._lows[:surplus], self._highs[:surplus]

    def __len__(self) -> int:
        """How many maximal intervals the set has (not how many ticks)."""
        return len(self._lows)

    def __eq__(self, other: object) -> bool:
        """Sets are equal when they hold the same ticks."""
        if not isinstance(other, IntervalSet):
            return NotImplemented
        return self._lows == other._lows and self._highs == other._highs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """For people: the intervals."""
        return f"IntervalSet({list(self)})"

    @property
    def span(self) -> int:
        """How many ticks the set holds."""
        return sum(self._highs) - sum(self._lows)

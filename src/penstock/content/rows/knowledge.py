"""A map of what is known of a stream: disjoint frames in order.

The rules of merging:

1. Knowledge never changes: two frames that speak of the same tick say the same of it (a final one
   says less, and never replaces rows that are held).
2. Inserting keeps what is already held and adds only the parts that were unknown, so inserting the
   same frame twice, or frames in any order, gives the same knowledge.  The one exception is a tick
   that one frame calls final and another holds: whichever came first stays.
3. What lies below a tick can be forgotten; it is then unknown again, and its holder no longer asks
   for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from penstock.content.rows.frame import Frame
from penstock.core.intervals import Interval, IntervalSet, Tick


class KnowledgeMap:
    """Frames of one stream, disjoint and in order, with the set of known ticks beside them."""

    __slots__ = ("_frames", "_known", "_lows", "weight")

    def __init__(self) -> None:
        """Nothing is known at first."""
        self._lows: list[Tick] = []
        self._frames: list[Frame] = []
        self._known = IntervalSet()
        self.weight = 0

    def insert(self, frame: Frame) -> list[Frame]:
        """Merge a frame in; returns the parts of it that were news, in order."""
        if frame.low >= frame.high:
            return []
        if not self._lows or frame.low >= self._frames[-1].high:
            news = [frame]
            self._lows.append(frame.low)
            self._frames.append(frame)
        else:
            news = [frame.slice(low, high) for low, high in self._known.gaps(frame.low, frame.high)]
            for part in news:
                at = bisect_left(self._lows, part.low)
                self._lows.insert(at, part.low)
                self._frames.insert(at, part)
        for part in news:
            self.weight += part.weight
            self._known.add(part.low, part.high)
        return news

    def slice(self, low: Tick, high: Tick) -> list[Frame]:
        """What is known of ``[low, high)``, cut to it, in order."""
        if low >= high:
            return []
        first = max(bisect_right(self._lows, low) - 1, 0)
        last = bisect_left(self._lows, high)
        touched = self._frames[first:last]
        return [frame.slice(low, high) for frame in touched if frame.high > low]

    def gaps(self, low: Tick, high: Tick) -> list[Interval]:
        """The parts of ``[low, high)`` of which nothing is known."""
        return self._known.gaps(low, high)

    def prefix_end(self, start: Tick) -> Tick:
        """The first tick at or above ``start`` of which nothing is known."""
        return self._known.prefix_end(start)

    def end_of(self, count: int, otherwise: Tick) -> Tick:
        """Where the first so many frames end, or something else if there are fewer."""
        return self._frames[count - 1].high if len(self._frames) >= count else otherwise

    def forget_below(self, tick: Tick) -> None:
        """Drop whatever lies below the tick, cutting the frame that straddles it."""
        count = bisect_left(self._lows, tick)
        if count:
            last = self._frames[count - 1]
            for dropped in self._frames[:count]:
                self.weight -= dropped.weight
            del self._lows[:count], self._frames[:count]
            if last.high > tick:
                kept = last.slice(tick, last.high)
                self._lows.insert(0, tick)
                self._frames.insert(0, kept)
                self.weight += kept.weight
        self._known.remove(-(2**63), tick)

    def pop_first(self) -> Frame:
        """Take the lowest frame out: how a bounded cache makes room."""
        frame = self._frames.pop(0)
        self._lows.pop(0)
        self._known.remove(frame.low, frame.high)
        self.weight -= frame.weight
        return frame

    @property
    def low(self) -> Tick | None:
        """The lowest tick that is known, or None."""
        return self._lows[0] if self._lows else None

    @property
    def high(self) -> Tick | None:
        """The end of the highest knowledge, or None."""
        return self._frames[-1].high if self._frames else None

    def __len__(self) -> int:
        """How many frames are held."""
        return len(self._frames)

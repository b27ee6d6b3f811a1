"""Decides where the next micro-batch ends.

1. Without limits it ends at the heads of the streams.
2. A limit on the span ends it at that many ticks after its beginning, without reading.
3. A limit on rows or bytes requires the positions of the rows, so the driver reads ahead: no
   further than the limit, and no row is counted twice.
4. A batch is cut at one instant for all pubends, the latest at which it is within the limits.  All
   pubends thus stay at the same time, as watermarks need it.
5. A batch always has at least one row, whatever the limit, or a large message would stop the query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec
import numpy as np

from penstock.content.rows.columns import Array
from penstock.content.rows.frame import Frame
from penstock.core.clock import Duration
from penstock.core.intervals import Tick


class Limits(msgspec.Struct, frozen=True):
    """The maximum and minimum size of a batch; None means no limit."""

    max_rows: int | None = None
    max_bytes: int | None = None
    max_span_ns: Duration | None = None
    min_rows: int | None = None

    @property
    def needs_counting(self) -> bool:
        """Whether the rows must be counted."""
        return self.max_rows is not None or self.max_bytes is not None or self.min_rows is not None


class ReadFrames(Protocol):
    """Reads the frames of an interval of one pubend, in order."""

    def __call__(self, pubend: str, low: Tick, high: Tick) -> Iterable[Frame]:
        """The frames with the rows that the query selects."""
        ...


class Counted(msgspec.Struct):
    """The ticks and sizes of one pubend's rows in ``[low, to)``."""

    low: Tick
    to: Tick
    ticks: list[Array]
    sizes: list[Array]
    rows: int = 0
    size_bytes: int = 0


class Backlog:
    """Counts the rows ahead of a query, as far as its limits require."""

    def __init__(self, limits: Limits, read: ReadFrames) -> None:
        self._limits = limits
        self._read = read
        self._counted: dict[str, Counted] = {}

    def ends(self, lows: Mapping[str, Tick], heads: Mapping[str, Tick]) -> dict[str, Tick]:
        """The end of a batch that begins at ``lows``, at most the heads."""
        limits = self._limits
        highs = dict(heads)
        if limits.max_span_ns is not None and lows:
            # From the oldest pubend that has anything to read.
            behind = [low for pubend, low in lows.items() if low < heads[pubend]]
            highs = _cut_at(min(behind, default=0) + limits.max_span_ns, lows, heads)
        if limits.max_rows is None and limits.max_bytes is None:
            return highs
        self._count(lows, highs)
        cut = self._cut(lows)
        if cut is None:
            return highs
        return _cut_at(cut, lows, highs)

    def rows_up_to(self, lows: Mapping[str, Tick], highs: Mapping[str, Tick], wanted: int) -> int:
        """The number of rows between, counted up to ``wanted``."""
        self._count(lows, highs)
        return min(wanted, sum(counted.rows for counted in self._counted.values()))

    def _count(self, lows: Mapping[str, Tick], highs: Mapping[str, Tick]) -> None:
        """Continue counting up to the ends, or as far as a limit can apply."""
        self._counted = {
            pubend: counted for pubend, counted in self._counted.items() if pubend in lows
        }
        for pubend, low in lows.items():
            counted = self._counted.get(pubend)
            if counted is None or low > counted.to or low < counted.low:
                counted = self._counted[pubend] = Counted(low, low, [], [])
            elif low > counted.low:
                _forget(counted, low)
            if counted.to >= highs[pubend] or self._has_enough(counted):
                continue
            for frame in self._read(pubend, counted.to, highs[pubend]):
                _add(counted, frame)
                if self._has_enough(counted):
                    break
            else:
                counted.to = highs[pubend]

    def _has_enough(self, counted: Counted) -> bool:
        """Whether one pubend alone fills a batch."""
        limits = self._limits
        if limits.max_rows is not None and counted.rows > limits.max_rows:
            return True
        if limits.max_bytes is not None and counted.size_bytes > limits.max_bytes:
            return True
        if limits.max_rows is not None or limits.max_bytes is not None:
            return False
        return limits.min_rows is not None and counted.rows >= limits.min_rows

    def _cut(self, lows: Mapping[str, Tick]) -> Tick | None:
        """The latest instant up to which all rows are within the limits; None if all rows are."""
        counted = [self._counted[pubend] for pubend in lows]
        ticks = _joined([part for each in counted for part in each.ticks])
        sizes = _joined([part for each in counted for part in each.sizes])
        order = np.argsort(ticks, kind="stable")
        ticks = ticks[order]
        allowed = len(ticks)
        if self._limits.max_rows is not None:
            allowed = min(allowed, self._limits.max_rows)
        if self._limits.max_bytes is not None:
            totals = np.cumsum(sizes[order])
            allowed = min(allowed, int(np.searchsorted(totals, self._limits.max_bytes, "right")))
        # Rows of a pubend are counted up to some tick; beyond it they are unknown.
        known = min((each.to for each in counted if self._has_enough(each)), default=None)
        if allowed >= len(ticks):
            return known
        cut = int(ticks[allowed])
        if cut == int(ticks[0]):
            cut += 1
        return cut if known is None else min(cut, known)


def _cut_at(cut: Tick, lows: Mapping[str, Tick], highs: Mapping[str, Tick]) -> dict[str, Tick]:
    return {pubend: max(lows[pubend], min(cut, high)) for pubend, high in highs.items()}


def _add(counted: Counted, frame: Frame) -> None:
    rows = len(frame)
    weight = np.full(rows, frame.weight // max(1, rows), np.int64)
    counted.ticks.append(frame.tick_array())
    counted.sizes.append(weight)
    counted.rows += rows
    counted.size_bytes += int(weight.sum())
    counted.to = frame.high


def _forget(counted: Counted, low: Tick) -> None:
    """Drop the counts below ``low``, which the query has read."""
    kept = [
        (ticks[ticks >= low], sizes[ticks >= low])
        for ticks, sizes in zip(counted.ticks, counted.sizes, strict=True)
        if len(ticks) and int(ticks[-1]) >= low
    ]
    counted.low = low
    counted.ticks = [ticks for ticks, _ in kept]
    counted.sizes = [sizes for _, sizes in kept]
    counted.rows = sum(map(len, counted.ticks))
    counted.size_bytes = sum(int(sizes.sum()) for sizes in counted.sizes)


def _joined(parts: list[Array]) -> Array:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)

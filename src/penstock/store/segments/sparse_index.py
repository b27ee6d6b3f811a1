"""Where to start reading a segment for a tick.

The index has an entry for the first record of a segment and then for the first record that starts
at least ``interval_bytes`` behind the last entry.  A look-up gives the last entry at or below the
tick; from there the reader walks over at most one interval.  An entry costs 16 bytes, so the index
of a log takes 1/4096 of the log at the default interval.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Final

from penstock.core.intervals import Tick

DEFAULT_INDEX_INTERVAL_BYTES: Final = 64 * 1024
"""Half of the 128 KiB that Linux reads ahead unless told otherwise: the walk is read anyway."""


class SparseIndex:
    """Some of the records of one segment, by their lowest tick."""

    __slots__ = ("_due", "_interval_bytes", "_lows", "_offsets")

    def __init__(self, interval_bytes: int = DEFAULT_INDEX_INTERVAL_BYTES) -> None:
        """Start empty."""
        self._interval_bytes = interval_bytes
        self._lows = array("q")
        self._offsets = array("q")
        self._due = 0

    def note(self, low: Tick, offset: int) -> None:
        """Take note of the next record."""
        if offset >= self._due:
            self._lows.append(low)
            self._offsets.append(offset)
            self._due = offset + self._interval_bytes

    def start_for(self, tick: Tick, default: int) -> int:
        """An offset at or before the first record that ends above a tick."""
        # A record before the entry ends at or below the entry's low, hence at or below the tick.
        position = bisect_right(self._lows, tick) - 1
        return self._offsets[position] if position >= 0 else default

    def stop_for(self, tick: Tick, default: int) -> int:
        """An offset at or behind the end of the last record that starts below a tick."""
        position = bisect_left(self._lows, tick)
        return self._offsets[position] if position < len(self._offsets) else default

    @property
    def first_low(self) -> Tick | None:
        """The lowest tick of the first record, if there is one."""
        return self._lows[0] if self._lows else None

    def __len__(self) -> int:
        """How many records have an entry."""
        return len(self._lows)

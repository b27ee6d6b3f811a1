"""The unsettled rows of a queue, in the order of their positions.

1. An entry is a run of rows that arrived together, at the positions ``[low, high)``.  Priority,
   expiry and origin are the same for all its rows and are kept once.
2. An entry stays until its last row is settled; the lowest remaining entry bounds how far the
   journal may be trimmed.
3. Bodies are kept in memory up to a bound.  An entry beyond the bound keeps only its description,
   and its body is read from the journal when it is needed.  An entry that is not in the journal
   always keeps its body.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant


class Entry:
    """A run of rows; ``frame`` is None while the body is only in the journal."""

    __slots__ = (
        "expires_at",
        "first_sequence",
        "frame",
        "high",
        "live",
        "low",
        "origin",
        "prepared",
        "priority",
        "recovered",
        "stored",
        "weight_bytes",
    )

    def __init__(
        self,
        frame: Frame,
        *,
        origin: str,
        first_sequence: int,
        priority: int,
        expires_at: Instant,
        prepared: bool = False,
        recovered: bool = False,
        stored: bool = True,
    ) -> None:
        """All rows are live at first.

        ``prepared`` says that they arrived without a decision (``queue/prepared``).  An entry that
        is not ``stored`` passes through an alias queue (``alias/pass_through``).
        """
        self.low: int = frame.ticks[0]
        self.high = self.low + len(frame)
        self.frame: Frame | None = frame
        self.live = self.high - self.low
        self.weight_bytes = frame.weight
        self.origin = origin
        self.first_sequence = first_sequence
        self.priority = priority
        self.expires_at = expires_at
        self.prepared = prepared
        self.recovered = recovered
        self.stored = stored


class Entries:
    """All entries with live rows."""

    def __init__(self, memory_bytes: int) -> None:
        """Keep bodies of at most ``memory_bytes`` in memory."""
        self._memory_bytes = memory_bytes
        self._lows: list[int] = []
        self._entries: list[Entry | None] = []
        self._start = 0
        self.loaded_bytes = 0
        self.bytes = 0
        self.rows = 0

    def add(self, entry: Entry) -> None:
        """Add an entry at positions above all others."""
        self._lows.append(entry.low)
        self._entries.append(entry)
        self.rows += entry.live
        self.bytes += entry.weight_bytes
        self.loaded_bytes += entry.weight_bytes
        self.trim_memory(entry)

    def trim_memory(self, entry: Entry) -> None:
        """Drop the body of a stored entry if more than ``memory_bytes`` are in memory."""
        if self.loaded_bytes > self._memory_bytes and entry.frame is not None and entry.stored:
            entry.frame = None
            self.loaded_bytes -= entry.weight_bytes

    def load(self, frame: Frame) -> None:
        """Take a body that was read from the journal."""
        entry = self.find(frame.ticks[0])
        if entry is not None and entry.frame is None:
            entry.frame = frame
            self.loaded_bytes += entry.weight_bytes

    def find(self, position: int) -> Entry | None:
        """The entry that holds a row, if it still has live rows."""
        index = bisect_right(self._lows, position) - 1
        if index < 0:
            return None
        entry = self._entries[index]
        return entry if entry is not None and position < entry.high else None

    def within(self, low: int, high: int) -> Iterator[Entry]:
        """The entries that have rows in ``[low, high)``, in order."""
        index = max(bisect_right(self._lows, low) - 1, self._start)
        while index < len(self._lows) and self._lows[index] < high:
            entry = self._entries[index]
            if entry is not None and entry.high > low:
                yield entry
            index += 1

    def settle(self, low: int, high: int) -> int:
        """Settle the rows in ``[low, high)``, all of them live; returns how many there were."""
        settled = 0
        index = max(bisect_right(self._lows, low) - 1, self._start)
        while index < len(self._lows) and self._lows[index] < high:
            entry = self._entries[index]
            if entry is not None and entry.high > low:
                count = min(entry.high, high) - max(entry.low, low)
                entry.live -= count
                settled += count
                if entry.live <= 0:
                    self._drop(index, entry)
            index += 1
        self.rows -= settled
        self._advance()
        return settled

    def _drop(self, index: int, entry: Entry) -> None:
        self._entries[index] = None
        self.bytes -= entry.weight_bytes
        if entry.frame is not None:
            self.loaded_bytes -= entry.weight_bytes

    def _advance(self) -> None:
        """Skip settled entries at the front; cut them off when they are the larger half."""
        entries = self._entries
        while self._start < len(entries) and entries[self._start] is None:
            self._start += 1
        if 2 * self._start > len(entries):
            del entries[: self._start]
            del self._lows[: self._start]
            self._start = 0

    @property
    def lowest(self) -> int | None:
        """The position of the first entry that still has live rows."""
        return self._lows[self._start] if self._start < len(self._lows) else None

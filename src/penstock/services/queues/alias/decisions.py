"""Decision notes on their way to the journal of an alias queue.

1. A decision is a note in the journal of the alias queue.  The row leaves the alias queue when the
   note is durable, and only then is the destination told that it owns the row.
2. One note for each destination is under way at a time; what is decided meanwhile goes into the
   next.
3. A note that the store refuses is written again later.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import DecisionEntry

DISCARDED = ""
"""The address in decisions about rows that are discarded: purged, expired or lost."""


class DecisionNotes:
    """The decisions of one alias queue that are not durable yet."""

    def __init__(self, journal: Journal, retry_ns: Duration) -> None:
        """A refused note is written again after ``retry_ns``."""
        self._journal = journal
        self._retry_ns = retry_ns
        self._next: dict[str, list[Interval]] = {}
        self._under_way: dict[str, tuple[int, list[Interval]]] = {}
        self._unwritten = IntervalSet()
        self.retry_at: Instant | None = None

    def decide(self, address: str, low: int, high: int) -> None:
        """Put rows into the next note for a destination."""
        self._next.setdefault(address, []).append((low, high))
        self._unwritten.add(low, high)

    def due(self) -> list[tuple[str, list[Interval]]]:
        """Remove and return the contents of the notes that can be written now."""
        if self.retry_at is not None:
            return []
        addresses = [each for each in self._next if each not in self._under_way]
        return [(address, self._next.pop(address)) for address in addresses]

    def write(
        self,
        address: str,
        intervals: list[Interval],
        origins: tuple[OriginRange, ...],
        out: list[Effect],
    ) -> None:
        """Order a note into the journal; ``origins`` are the numbers of rows that pass through."""
        entry = DecisionEntry(self._journal.note(), address, tuple(intervals), origins)
        self._under_way[address] = (self._journal.append(entry, out), intervals)

    def resolved(self, token: int) -> tuple[str, list[Interval]] | None:
        """Remove and return the note that the store has answered; None if it was no note."""
        for address, (each, intervals) in self._under_way.items():
            if each == token:
                del self._under_way[address]
                for low, high in intervals:
                    self._unwritten.remove(low, high)
                return address, intervals
        return None

    def write_again(self, address: str, intervals: list[Interval], now: Instant) -> None:
        """Write a refused note again after a pause."""
        self.retry_at = now + self._retry_ns
        if intervals:
            self._next.setdefault(address, [])[:0] = intervals
            for low, high in intervals:
                self._unwritten.add(low, high)

    def deadline(self, now: Instant) -> None:
        """End the pause after a refused note."""
        if self.retry_at is not None and now >= self.retry_at:
            self.retry_at = None

    def unwritten(self, low: int, high: int) -> list[Interval]:
        """The rows of ``[low, high)`` whose note is not durable."""
        return self._unwritten.within(low, high)

    def discarding(self) -> list[Interval]:
        """The rows that are discarded and whose note is not durable."""
        _, under_way = self._under_way.get(DISCARDED, (0, []))
        return [*self._next.get(DISCARDED, ()), *under_way]

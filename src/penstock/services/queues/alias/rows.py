"""The undecided rows of one alias queue: waiting, or in flight to a destination.

``alias/row_life`` lists all states of a row.  A row is undecided while it can still become any
destination's.  This object keeps the waiting rows and the set of all undecided rows; each
destination keeps the rows that are in flight to it (``alias/destination``).  After a crash every
row without a decision in the journal waits.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.core.clock import NEVER
from penstock.core.intervals import Interval, IntervalSet
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import DecisionEntry, RowsEntry
from penstock.services.queues.queue.ready import ReadyRows


class AliasRows:
    """The waiting rows and the undecided rows of an alias queue."""

    def __init__(self, journal: Journal, entries: Entries) -> None:
        self._journal = journal
        self._entries = entries
        self.waiting = ReadyRows()
        self.undecided = IntervalSet()
        self._recovered_decided = IntervalSet()

    # -- recovery ---------------------------------------------------------------------------

    def recover_decision(self, decision: DecisionEntry) -> None:
        """Take a decision that a restart has read: its rows have left the alias queue."""
        for low, high in decision.intervals:
            self._entries.settle(low, high)
            self._recovered_decided.add(low, high)

    def place_recovered(self) -> None:
        """Every recovered row without a decision waits."""
        for entry in list(self._entries.within(0, NEVER)):
            for low, high in self._recovered_decided.gaps(entry.low, entry.high):
                self.undecided.add(low, high)
                self.waiting.add(entry.priority, low, high)
        self._recovered_decided = IntervalSet()

    # -- changes ----------------------------------------------------------------------------

    def arrived(self, rows: RowsEntry, *, stored: bool) -> int:
        """Rows wait: they are durable, or pass through; returns how many there are."""
        entry = entry_of(rows, stored=stored)
        self._entries.add(entry)
        self.undecided.add(entry.low, entry.high)
        self.waiting.add(entry.priority, entry.low, entry.high)
        return entry.live

    def forwarded(self, entry: Entry, low: int, high: int) -> int:
        """Waiting rows of an entry are in flight; returns what they weigh in bytes."""
        self.waiting.remove(entry.priority, low, high)
        whole = low == entry.low and high == entry.high
        return entry.weight_bytes if whole else self.weight_bytes(low, high)

    def wait_again(self, parts: Iterable[Interval]) -> None:
        """Rows that were in flight wait to be forwarded again."""
        for low, high in parts:
            for entry in list(self._entries.within(low, high)):
                self.waiting.add(entry.priority, max(low, entry.low), min(high, entry.high))

    def decide(self, low: int, high: int) -> None:
        """Rows are not undecided any more; those that waited do not wait."""
        self.undecided.remove(low, high)
        for entry in self._entries.within(low, high):
            for part in self.waiting.within(entry.priority, max(low, entry.low), high):
                self.waiting.remove(entry.priority, *part)

    # -- looking in -------------------------------------------------------------------------

    def first_waiting(self) -> tuple[Entry, int, int] | None:
        """The first waiting run of one entry."""
        first = self.waiting.first()
        if first is None:
            return None
        entry = self._entries.find(first[0])
        assert entry is not None, f"row {first[0]} waits and does not exist"
        return entry, first[0], min(first[1], entry.high)

    def waiting_without_body(self, lost: Iterable[Interval]) -> list[Interval]:
        """The waiting rows in these intervals whose bodies are not in memory."""
        return [
            part
            for lost_low, lost_high in lost
            for entry in self._entries.within(lost_low, lost_high)
            if entry.frame is None
            for part in self.waiting.within(entry.priority, entry.low, entry.high)
        ]

    @property
    def floor(self) -> int:
        """Every row below this position is decided, durably."""
        lowest, pending = self._entries.lowest, self._journal.lowest_pending
        return pending if lowest is None else min(lowest, pending)

    def weight_bytes(self, low: int, high: int) -> int:
        """What rows weigh, if all rows of an entry weigh the same."""
        weight = 0
        for entry in self._entries.within(low, high):
            rows = min(high, entry.high) - max(low, entry.low)
            weight += entry.weight_bytes * rows // (entry.high - entry.low)
        return weight

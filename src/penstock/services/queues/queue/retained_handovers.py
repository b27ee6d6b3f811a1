"""Entries of a queue's journal that alias queues of the same broker rely on.

1. An entry that was handed over names the producer and its numbers.  After a crash it is the only
   record by which the alias queue recognises a repeat (penstock.services.queues.alias.handover).
2. The entry is therefore retained, even when its rows are settled, until the alias queue has saved
   these numbers itself.  It saves once a second, so few entries are retained.
"""

from __future__ import annotations

from collections import deque

from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.messages import RowsEntry
from penstock.services.queues.queue.senders import alias_of_handover


class RetainedHandovers:
    """The retained entries of one journal, by alias queue."""

    def __init__(self) -> None:
        self._entries: dict[str, deque[tuple[int, int]]] = {}
        self._recovered: dict[str, list[OriginRange]] = {}

    def add(self, rows: RowsEntry) -> None:
        """Retain an entry; the positions ascend in both journals."""
        entry = (rows.first_sequence, rows.frame.low)
        self._entries.setdefault(alias_of_handover(rows.origin), deque()).append(entry)

    def recover(self, rows: RowsEntry) -> None:
        """Retain an entry that a restart has read."""
        self.add(rows)
        ranges = self._recovered.setdefault(alias_of_handover(rows.origin), [])
        ranges.append((rows.producer, rows.producer_sequence, len(rows.frame)))

    def take_recovered(self) -> dict[str, list[OriginRange]]:
        """Remove and return the producers' numbers that a restart has read, by alias queue."""
        recovered, self._recovered = self._recovered, {}
        return recovered

    def release(self, alias: str, below: int) -> None:
        """The alias queue does not rely on entries below this position of its own any more."""
        entries = self._entries.get(alias)
        while entries and entries[0][0] < below:
            entries.popleft()

    @property
    def lowest(self) -> int | None:
        """The first position of the journal that is retained."""
        return min((entries[0][1] for entries in self._entries.values() if entries), default=None)

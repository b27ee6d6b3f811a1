"""What alias queues of the same broker handed over to a queue, as far as its journal must tell.

1. An entry of the journal that names an alias queue's producer is all that says, after a crash,
   that a repeat of its rows is one (penstock.services.queues.alias.handover).
2. It may therefore not be trimmed before the alias queue has saved that itself, whether its rows
   are settled or not.  There is a save every second, so little is kept for this.
"""

from __future__ import annotations

from collections import deque

from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.messages import RowsEntry
from penstock.services.queues.queue.senders import alias_of_handover


class HandedRows:
    """The entries of one journal that alias queues rely on, by alias queue."""

    def __init__(self) -> None:
        """There are none."""
        self._entries: dict[str, deque[tuple[int, int]]] = {}
        self._found: dict[str, list[OriginRange]] = {}

    def add(self, rows: RowsEntry) -> None:
        """Rows are durable; both their positions ascend."""
        entry = (rows.first_sequence, rows.frame.low)
        self._entries.setdefault(alias_of_handover(rows.origin), deque()).append(entry)

    def found(self, rows: RowsEntry) -> None:
        """The same, in a journal that is read after a restart."""
        self.add(rows)
        told = self._found.setdefault(alias_of_handover(rows.origin), [])
        told.append((rows.producer, rows.producer_sequence, len(rows.frame)))

    def take_found(self) -> dict[str, list[OriginRange]]:
        """Whose rows the journal names, by alias queue; told once."""
        found, self._found = self._found, {}
        return found

    def remembered(self, alias: str, below: int) -> None:
        """The alias queue relies on nothing below this position of its own any more."""
        entries = self._entries.get(alias)
        while entries and entries[0][0] < below:
            entries.popleft()

    @property
    def lowest(self) -> int | None:
        """The first position of the journal that somebody relies on."""
        return min((entries[0][1] for entries in self._entries.values() if entries), default=None)

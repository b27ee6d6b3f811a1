"""Reads bodies back from a journal when they are not in memory.

One read is under way at a time.  It starts at the body that is needed and brings back as many of
those behind it as one read may (``read_bytes``).
"""

from __future__ import annotations

from penstock.core.machine import Effect, LogRead
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import RowsEntry


class BodyReader:
    """The read of bodies for one queue."""

    def __init__(self, journal: Journal, entries: Entries) -> None:
        self._journal = journal
        self._entries = entries
        self._token: int | None = None

    def need(self, position: int, out: list[Effect]) -> None:
        """Order the body at a position, unless a read is under way."""
        if self._token is None:
            self._token = self._journal.read(position, self._journal.assigned_end, out)

    def loaded(self, fact: LogRead) -> bool:
        """Take bodies that were read; False if this was another read."""
        if fact.token != self._token:
            return False
        self._token = None
        for entry in fact.frames:
            if isinstance(entry, RowsEntry):
                self._entries.load(entry.frame)
        if fact.lost:
            self._journal.note_lost(fact)
        return True

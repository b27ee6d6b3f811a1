"""Saves a pubend's table of producers, so that a restart reads only the end of the log.

1. A checkpoint leaves out the rows that are in flight to the disk, because the store may still
   refuse them.  It does not wait until nothing is in flight: on a busy pubend that moment never
   comes.
2. The log may be trimmed only as far as a table that is on disk is right.  Rows that are neither in
   that table nor in the log would be forgotten by a restart, and their repeats stored again.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import PersistFailed, PersistState
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import SequenceTable


class ProducerCheckpoint:
    """When the table is saved next, and whether it has changed."""

    def __init__(
        self,
        log: str,
        key: str,
        producers: SequenceTable,
        tokens: Tokens,
        *,
        interval_ns: Duration,
        saved_to: Tick,
        now: Instant,
    ) -> None:
        """``key`` names the saved table; ``log`` owns the order to the store.

        ``saved_to`` is up to where the table that was found is right.
        """
        self.due_at: Instant = now + interval_ns
        self.changed = False
        self._saved_to = saved_to
        self._saving: tuple[int, Tick] | None = None
        self._log = log
        self._key = key
        self._producers = producers
        self._tokens = tokens
        self._interval_ns = interval_ns

    def is_due(self, now: Instant) -> bool:
        """Whether the table must be saved now; if its time has come, the next one is set."""
        if now < self.due_at:
            return False
        self.due_at = now + self._interval_ns
        return self.changed and self._saving is None

    def save(self, complete_to: Tick, in_flight: list[tuple[str, int, int]]) -> PersistState:
        """Save the table, which is right up to ``complete_to``, without the rows in flight."""
        self.changed = bool(in_flight)
        token = self._tokens.take(self._log)
        self._saving = token, complete_to
        return PersistState(token, {self._key: self._producers.save(complete_to, in_flight)})

    def resolved(self, token: int, failure: PersistFailed | None) -> bool:
        """The table is on disk, or was refused; False if the order was not given here."""
        if self._saving is None or self._saving[0] != token:
            return False
        _, complete_to = self._saving
        self._saving = None
        if failure is None:
            self._saved_to = complete_to
        else:
            self.changed = True
        return True

    def covers(self, spoken_end: Tick) -> Tick:
        """The log below this tick is not needed to complete the table after a restart."""
        return self._saved_to if self.changed or self._saving is not None else spoken_end

    def hasten(self, now: Instant) -> None:
        """Save at once, unless that is under way: the log must be trimmed further."""
        if self._saving is None:
            self.due_at = min(self.due_at, now)

"""Saves a pubend's table of producers, so that a restart reads only the end of the log.

A checkpoint leaves out the rows that are in flight to the disk, because the store may still refuse
them.  It does not wait until nothing is in flight: on a busy pubend that moment never comes.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import PersistState
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
        now: Instant,
    ) -> None:
        """``key`` names the saved table; ``log`` owns the order to the store."""
        self.due_at: Instant = now + interval_ns
        self.changed = False
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
        return self.changed

    def save(self, complete_to: Tick, in_flight: list[tuple[str, int, int]]) -> PersistState:
        """Save the table, which is right up to ``complete_to``, without the rows in flight."""
        self.changed = bool(in_flight)
        saved = self._producers.save(complete_to, in_flight)
        return PersistState(self._tokens.take(self._log), {self._key: saved})

"""Settlement notes on their way to the journal of a queue.

1. A settlement counts when its note is durable.  One note is under way at a time; whatever is
   settled meanwhile goes into the next one, so the faster consumers are, the more one note holds.
2. A note that the store refuses is written again later; until then no consumer gets its answer.
3. Committed rows (the alias queue has decided that they belong to this queue) have no note of their
   own: they go with the next note that must be written, and alone only if there is none for
   ``piggyback_ns``.  A crash before that leaves the rows prepared; the alias queue, which has not
   heard that the decision is known here, answers as before.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, PersistFailed, Send
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import SettlementEntry
from penstock.services.queues.queue.prepared import AliasKey

DecidedNumbers: TypeAlias = tuple[AliasKey, tuple[Interval, ...]]
"""An alias queue, and those of its numbers on which it has decided."""


class _Note:
    """The contents of one note, and what may be said once it is durable."""

    __slots__ = ("attempts", "committed", "decided", "replies", "settled")

    def __init__(self) -> None:
        self.settled: list[Interval] = []
        self.attempts: list[tuple[int, int, int]] = []
        self.committed: list[Interval] = []
        self.replies: list[Send] = []
        self.decided: list[DecidedNumbers] = []

    def settle(self, low: int, high: int) -> None:
        self.settled.append((low, high))

    def attempt(self, low: int, high: int, attempts: int) -> None:
        self.attempts.append((low, high, attempts))

    def commit(self, low: int, high: int) -> None:
        self.committed.append((low, high))

    def decide(self, alias: AliasKey, numbers: tuple[Interval, ...]) -> None:
        self.decided.append((alias, numbers))

    def reply(self, reply: Send) -> None:
        self.replies.append(reply)

    @property
    def cannot_wait(self) -> bool:
        return bool(self.settled or self.attempts)


class Settlements:
    """The notes of one queue."""

    def __init__(self, journal: Journal, retry_ns: Duration, piggyback_ns: Duration) -> None:
        """A refused note is written again after ``retry_ns``."""
        self._journal = journal
        self._retry_ns = retry_ns
        self._piggyback_ns = piggyback_ns
        self._next = _Note()
        self._under_way = _Note()
        self._token: int | None = None
        self._waited = False
        self._durable: list[DecidedNumbers] = []
        self._retry_at: Instant | None = None
        self._write_at: Instant | None = None

    # -- the next note ----------------------------------------------------------------------

    def settle(self, low: int, high: int) -> None:
        """These rows leave the queue."""
        self._next.settle(low, high)

    def attempted(self, low: int, high: int, attempts: int) -> None:
        """These rows were delivered this many times without being acknowledged."""
        self._next.attempt(low, high, attempts)

    def commit(self, low: int, high: int) -> None:
        """These rows are no longer prepared: they belong to this queue."""
        self._next.commit(low, high)

    def decided(self, alias: AliasKey, numbers: tuple[Interval, ...], now: Instant) -> None:
        """An alias queue has decided on these numbers; it is told when that is durable here."""
        self._next.decide(alias, numbers)
        if self._write_at is None and not self._waited:
            self._write_at = now + self._piggyback_ns

    def reply(self, reply: Send) -> None:
        """Send this when everything that was settled up to here is durable."""
        self._next.reply(reply)

    # -- writing ----------------------------------------------------------------------------

    def flush(self, out: list[Effect]) -> None:
        """Write the next note if it has contents that must be written and none is under way."""
        if self._token is not None or self._retry_at is not None:
            return
        note = self._next
        if note.cannot_wait or (self._waited and note.committed):
            self._under_way, self._next = note, _Note()
            self._stop_waiting()
            self._write(out)
            return
        if note.replies:
            out.extend(note.replies)
            note.replies = []
        if self._waited:
            # Decisions that were repeated: the note about them is durable already.
            self._durable += note.decided
            note.decided = []
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        self._waited = False
        self._write_at = None

    def _write(self, out: list[Effect]) -> None:
        note = self._under_way
        entry = SettlementEntry(
            self._journal.note(),
            tuple(note.settled),
            tuple(note.attempts),
            tuple(note.committed),
        )
        self._token = self._journal.append(entry, out)

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> list[Interval]:
        """Take the answer of the store; returns the rows whose settlement is durable now."""
        if token != self._token:
            return []
        self._token = None
        if failure:
            self._retry_at = now + self._retry_ns
            return []
        note, self._under_way = self._under_way, _Note()
        out.extend(note.replies)
        self._durable += note.decided
        return note.settled

    def take_durable(self) -> list[DecidedNumbers]:
        """The decisions that became durable since the last call."""
        durable, self._durable = self._durable, []
        return durable

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Write a refused note again; let a note be written that no other has joined in time."""
        if self._retry_at is not None and now >= self._retry_at:
            self._retry_at = None
            self._write(out)
        if self._write_at is not None and now >= self._write_at:
            self._write_at = None
            self._waited = True

    def next_deadline(self) -> Instant | None:
        """The earlier of the two."""
        return earliest(self._retry_at, self._write_at)

"""Rows that pass through an alias queue without being stored in it.

Storing every row at both ends costs a second write of all of it.  That is of no use while the
destination stores rows as quickly as this disk would:

1. Rows for destinations that are near (``alias/distance``) get positions that were reserved
   durably, and are forwarded at once.  Here they are only in memory.
2. The destination stores them as prepared, as always, and asks for the decision.  The note of the
   decision is written here with the producers' numbers; when it is durable the producer gets its
   receipt.  No answer was given before, so a crash of this broker makes the row unknown: the
   destination is told to drop it, and the producer sends it again.
3. A row that has no owner in time, or that no destination can take, is stored here under a new
   position; the old position is abandoned.  For some time afterwards all rows are stored.
4. If the note cannot be written, the rows are withdrawn from the destination and refused.
5. The rows that are neither stored nor decided are bounded like rows that wait for the disk.
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, PersistFailed
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.log.append import AppendAnswer, Appender
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import RowsEntry
from penstock.services.queues.parameters import AliasConfig, QueueParameters
from penstock.services.queues.queue.senders import Sender


class PassingRows:
    """Rows that arrived together and pass through.

    ``without_owner`` are those that have no durable owner yet; ``since`` is when they arrived.
    """

    __slots__ = ("answer", "arrived", "high", "low", "rows", "since", "weight", "without_owner")

    def __init__(self, rows: RowsEntry, answer: AppendAnswer[Sender], since: Instant) -> None:
        frame = rows.frame
        self.rows = rows
        self.low, self.high, self.weight = frame.low, frame.high, frame.weight
        self.answer = answer
        self.since = since
        self.without_owner = IntervalSet([(self.low, self.high)])
        self.arrived = False

    def done(self, low: int, high: int) -> bool:
        """Some rows have an owner or another position; True if none is left without."""
        self.without_owner.remove(low, high)
        if len(self.without_owner):
            return False
        self.answer.wait -= 1
        return True

    def first_sequence(self, position: int) -> int:
        """The producer's number of the row at a position."""
        return self.rows.first_sequence + position - self.low

    def pending_ranges(self) -> list[OriginRange]:
        """The producer's numbers of the rows that have no durable owner."""
        origin = self.rows.origin
        return [(origin, self.first_sequence(low), high - low) for low, high in self.without_owner]


class PassThrough:
    """The rows that pass through one alias queue at present."""

    def __init__(
        self,
        rows: AliasRows,
        journal: Journal,
        entries: Entries,
        appender: Appender[Sender],
        config: AliasConfig,
        parameters: QueueParameters,
    ) -> None:
        self._enabled = config.pass_through_ns > 0
        self._undecided = rows.undecided
        self._journal = journal
        self._origins = journal.origins
        self._entries = entries
        self._appender = appender
        self._limit_ns = parameters.unstored_limit_ns
        self._pass_again_ns = parameters.pass_again_ns
        self._limit_bytes = parameters.submit_limit_bytes
        self._passing: dict[int, PassingRows] = {}
        self._bytes = 0
        self._arriving: list[PassingRows] = []
        self._open_at: Instant | None = None
        self._closed_until: Instant = 0
        self.passed_messages = 0

    def __len__(self) -> int:
        """How many runs are neither stored nor decided."""
        return len(self._passing)

    # -- arriving ---------------------------------------------------------------------------

    def open(self, now: Instant, *, near: bool, out: list[Effect]) -> None:
        """Let rows that are offered now pass, if all destinations are ``near``."""
        self._open_at = now if near and now >= self._closed_until else None
        if self._enabled:
            self._journal.reserve(out)

    def close(self) -> None:
        """Let no row pass until ``open`` is called."""
        self._open_at = None

    def offer(self, rows: RowsEntry, answer: AppendAnswer[Sender]) -> bool:
        """Let admitted rows pass through; False if they must be stored."""
        frame = rows.frame
        waiting_bytes = self._bytes + self._entries.bytes + frame.weight
        if self._open_at is None or waiting_bytes > self._limit_bytes:
            return False
        if not self._journal.is_reserved(frame.high):
            return False
        passing = PassingRows(rows, answer, self._open_at)
        self._passing[passing.low] = passing
        self._arriving.append(passing)
        self._bytes += passing.weight
        return True

    def _released(self) -> list[PassingRows]:
        """Remove and return the arriving rows that no row on its way to the disk precedes."""
        if not self._arriving:
            return []
        before = self._appender.lowest_pending
        released = [each for each in self._arriving if before is None or each.low < before]
        del self._arriving[: len(released)]
        return released

    def arrivals(self) -> list[RowsEntry]:
        """Remove and return the rows that may be forwarded now."""
        released = self._released()
        for passing in released:
            passing.arrived = True
            # From here on they are counted with the entries of the alias queue.
            self._bytes -= passing.weight
        return [passing.rows for passing in released]

    def take_for_handover(self) -> list[PassingRows]:
        """Remove and return the rows that may be handed over now (``alias/handover``).

        They count against the bound until ``handed_over`` is called.
        """
        released = self._released()
        for passing in released:
            del self._passing[passing.low]
        return released

    def handed_over(self, passing: PassingRows) -> None:
        """A queue of this broker has answered for all these rows."""
        self._bytes -= passing.weight

    # -- decided ----------------------------------------------------------------------------

    def origins_of(self, intervals: list[Interval]) -> tuple[OriginRange, ...]:
        """The producers' numbers of the rows among these that are not in the journal."""
        found: list[OriginRange] = []
        if not self._passing:
            return ()
        for low, high in intervals:
            for entry, part_low, part_high in self._parts(low, high):
                first = entry.first_sequence + part_low - entry.low
                count = part_high - part_low
                if found and found[-1][0] == entry.origin and sum(found[-1][1:]) == first:
                    found[-1] = (entry.origin, found[-1][1], found[-1][2] + count)
                else:
                    found.append((entry.origin, first, count))
        return tuple(found)

    def owned(self, low: int, high: int) -> None:
        """The note that gives these rows an owner is durable."""
        if self._passing:
            for entry, part_low, part_high in self._parts(low, high):
                self.passed_messages += part_high - part_low
                self._done(entry.low, part_low, part_high)

    def refused(self, low: int, high: int, failure: PersistFailed) -> list[Interval]:
        """The note could not be written: refuse and return the rows that pass through."""
        parts = []
        for entry, part_low, part_high in self._parts(low, high):
            self._fail(self._passing[entry.low], part_low, part_high, failure)
            self._done(entry.low, part_low, part_high)
            parts.append((part_low, part_high))
        return parts

    def unsure(self, passing: PassingRows, low: int, high: int, reason: str) -> None:
        """It is unknown whether the queue to which these rows were handed over has them."""
        self._fail(passing, low, high, PersistFailed(0, reason, uncertain=True))

    def _fail(self, passing: PassingRows, low: int, high: int, failure: PersistFailed) -> None:
        rows, first = passing.rows, passing.first_sequence(low)
        self._origins.remove(rows.origin, first, high - low)
        self._appender.fail(passing.answer, failure, first, high - low)

    def _parts(self, low: int, high: int) -> list[tuple[Entry, int, int]]:
        """The parts of ``[low, high)`` that pass through, by entry."""
        return [
            (entry, max(low, entry.low), min(high, entry.high))
            for entry in self._entries.within(low, high)
            if not entry.stored
        ]

    def _done(self, first: int, low: int, high: int) -> None:
        if self._passing[first].done(low, high):
            del self._passing[first]

    # -- stored after all -------------------------------------------------------------------

    @property
    def overdue_at(self) -> Instant | None:
        """When the oldest rows have waited for an owner for too long."""
        for passing in self._passing.values():
            return passing.since + self._limit_ns
        return None

    def is_overdue(self, now: Instant) -> bool:
        """Whether the oldest rows must be stored now."""
        overdue_at = self.overdue_at
        return overdue_at is not None and now >= overdue_at

    def undecided(self) -> list[Interval]:
        """The undecided rows among those that pass through."""
        return [
            part
            for passing in self._passing.values()
            if passing.arrived
            for part in self._undecided.within(passing.low, passing.high)
        ]

    def store(self, undecided: list[Interval], now: Instant, out: list[Effect]) -> None:
        """Store these rows and those that are arriving under new positions."""
        self._closed_until = now + self._pass_again_ns
        self.close()
        for low, high in undecided:
            for entry, part_low, part_high in self._parts(low, high):
                self.store_again(self._passing[entry.low], part_low, part_high, out)
                self._done(entry.low, part_low, part_high)
        for passing in self._arriving:
            self._bytes -= passing.weight
            self.store_again(passing, passing.low, passing.high, out)
            self._done(passing.low, passing.low, passing.high)
        self._arriving.clear()
        for passing in self._passing.values():
            # The others wait only for a note of this broker.
            passing.since = now

    def store_again(self, passing: PassingRows, low: int, high: int, out: list[Effect]) -> None:
        """Store some rows under new positions; the old positions are abandoned."""
        rows = passing.rows
        frame = self._journal.place(rows.frame.slice(low, high).batch)
        first = passing.first_sequence(low)
        again = RowsEntry(frame, rows.origin, first, rows.priority, rows.expires_at)
        if (low, high) == (passing.low, passing.high):
            passing.answer.first_position = frame.low
        passing.answer.wait += 1
        self._appender.append(again, passing.answer, out)

    # -- looking in -------------------------------------------------------------------------

    def pending_ranges(self) -> list[OriginRange]:
        """The numbers that the table of origins has and no durable record has."""
        return [part for passing in self._passing.values() for part in passing.pending_ranges()]

    def arriving(self) -> list[Interval]:
        """The rows that wait behind rows on their way to the disk."""
        return [(passing.low, passing.high) for passing in self._arriving]

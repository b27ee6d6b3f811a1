"""Rows that pass through an alias queue without being stored in it.

Storing every row at both ends costs a second write of all of it.  It buys nothing while the
destination takes rows as quickly as this disk would:

1. Rows for destinations that are near (``alias/distance``) get positions that are reserved
   durably, and are forwarded at once.  Here they are only in memory.
2. The destination holds them in doubt, as always, and asks whose they are.  The note that says so
   is written here with the producers' numbers; when it is durable the producer gets its receipt.
   Until then nobody was told anything, so a crash of this broker makes the row one that nobody
   knows: the destination is told to drop it, and the producer sends it again.
3. A row that found no owner in time, or that no destination can take, is stored here under a new
   position; the old one belongs to nobody.  For a while nothing passes through then.
4. If the note cannot be written, the rows are withdrawn from the destination and refused.
5. What is neither stored nor decided is bounded like everything that waits for the disk.
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, PersistFailed
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.log.append import Answer, Intake
from penstock.services.queues.log.entries import Entry
from penstock.services.queues.messages import RowsEntry
from penstock.services.queues.parameters import AliasConfig, QueueParameters
from penstock.services.queues.queue.senders import Sender


class Piece:
    """Rows that arrived together, and those of them that have no owner yet, durably."""

    __slots__ = ("answer", "arrived", "rows", "since", "without_owner")

    def __init__(self, rows: RowsEntry, answer: Answer[Sender], since: Instant) -> None:
        self.rows = rows
        self.answer = answer
        self.since = since
        self.without_owner = IntervalSet([(rows.frame.low, rows.frame.high)])
        self.arrived = False

    def done(self, low: int, high: int) -> bool:
        """Some of them have an owner, or another position; whether all of them do now."""
        self.without_owner.remove(low, high)
        if len(self.without_owner):
            return False
        self.answer.wait -= 1
        return True

    def pending_ranges(self) -> list[OriginRange]:
        """The producer's numbers of those that have none."""
        first = self.rows.first_sequence - self.rows.frame.low
        return [(self.rows.origin, first + low, high - low) for low, high in self.without_owner]


class Passage:
    """What passes through one alias queue at present."""

    def __init__(
        self,
        rows: AliasRows,
        intake: Intake[Sender],
        config: AliasConfig,
        parameters: QueueParameters,
    ) -> None:
        """Nothing does."""
        self._pass_through_ns = config.pass_through_ns
        self._rows = rows
        self._journal = rows.journal
        self._intake = intake
        self._limit_ns = parameters.unstored_limit_ns
        self._pass_again_ns = parameters.pass_again_ns
        self._limit_bytes = parameters.submit_limit_bytes
        self._pieces: dict[int, Piece] = {}
        self._bytes = 0
        self._arriving: list[Piece] = []
        self._open_at: Instant | None = None
        self._closed_until: Instant = 0
        self.passed_messages = 0
        intake.take_over = self._take_over

    def __len__(self) -> int:
        """How many pieces are neither stored nor decided."""
        return len(self._pieces)

    # -- the way in -------------------------------------------------------------------------

    def open(self, now: Instant, *, near: bool, out: list[Effect]) -> None:
        """Whether what comes now may pass; ``near`` says that all destinations are, or here."""
        self._open_at = now if near and now >= self._closed_until else None
        if self._pass_through_ns:
            self._journal.reserve(out)

    def close(self) -> None:
        """What comes now is stored."""
        self._open_at = None

    def _take_over(self, rows: RowsEntry, answer: Answer[Sender]) -> bool:
        frame = rows.frame
        waiting_bytes = self._bytes + self._rows.entries.bytes + frame.weight
        if self._open_at is None or waiting_bytes > self._limit_bytes:
            return False
        if not self._journal.is_reserved(frame.high):
            return False
        piece = Piece(rows, answer, self._open_at)
        self._pieces[frame.low] = piece
        self._arriving.append(piece)
        self._bytes += frame.weight
        return True

    def _ready(self) -> list[Piece]:
        """What may go on now: that before which nothing waits for the disk."""
        if not self._arriving:
            return []
        before = self._intake.lowest_pending
        ready = [each for each in self._arriving if before is None or each.rows.frame.low < before]
        del self._arriving[: len(ready)]
        return ready

    def arrivals(self) -> list[RowsEntry]:
        """Rows that may be forwarded now."""
        ready = self._ready()
        for piece in ready:
            piece.arrived = True
            # From here on they are counted with the alias queue's entries.
            self._bytes -= piece.rows.frame.weight
        return [piece.rows for piece in ready]

    def leave(self) -> list[Piece]:
        """The same for rows that go to queues of this broker (``alias/handover``).

        They count against the bound until they have ``left``.
        """
        ready = self._ready()
        for piece in ready:
            del self._pieces[piece.rows.frame.low]
        return ready

    def left(self, piece: Piece) -> None:
        """They have arrived there."""
        self._bytes -= piece.rows.frame.weight

    # -- decided ----------------------------------------------------------------------------

    def origins_of(self, intervals: list[Interval]) -> tuple[OriginRange, ...]:
        """The producers' numbers of the rows among these that are not in the journal."""
        found: list[OriginRange] = []
        if not self._pieces:
            return ()
        for low, high in intervals:
            for entry, part_low, part_high in self._passing(low, high):
                first = entry.first_sequence + part_low - entry.low
                count = part_high - part_low
                if found and found[-1][0] == entry.origin and sum(found[-1][1:]) == first:
                    found[-1] = (entry.origin, found[-1][1], found[-1][2] + count)
                else:
                    found.append((entry.origin, first, count))
        return tuple(found)

    def owned(self, low: int, high: int) -> None:
        """A durable note says whose these rows are."""
        if self._pieces:
            for entry, part_low, part_high in self._passing(low, high):
                self.passed_messages += part_high - part_low
                self._done(entry.low, part_low, part_high)

    def refused(self, low: int, high: int, failure: PersistFailed) -> list[Interval]:
        """The note could not be written: the rows among these that pass through are refused."""
        parts = []
        for entry, part_low, part_high in self._passing(low, high):
            first = entry.first_sequence + part_low - entry.low
            count = part_high - part_low
            self._journal.origins.remove(entry.origin, first, count)
            self._intake.fail(self._pieces[entry.low].answer, failure, first, count)
            self._done(entry.low, part_low, part_high)
            parts.append((part_low, part_high))
        return parts

    def _passing(self, low: int, high: int) -> list[tuple[Entry, int, int]]:
        return [
            (entry, max(low, entry.low), min(high, entry.high))
            for entry in self._rows.entries.within(low, high)
            if not entry.stored
        ]

    def _done(self, piece_low: int, low: int, high: int) -> None:
        if self._pieces[piece_low].done(low, high):
            del self._pieces[piece_low]

    # -- stored after all -------------------------------------------------------------------

    @property
    def overdue_at(self) -> Instant | None:
        """When the oldest rows have waited for an owner long enough."""
        for piece in self._pieces.values():
            return piece.since + self._limit_ns
        return None

    def is_overdue(self, now: Instant) -> bool:
        """Whether it is time to store what is here."""
        overdue_at = self.overdue_at
        return overdue_at is not None and now >= overdue_at

    def undecided(self) -> list[Interval]:
        """Rows that were handed to the alias queue and can still become anybody's."""
        undecided = self._rows.undecided
        return [
            part
            for piece in self._pieces.values()
            if piece.arrived
            for part in undecided.within(piece.rows.frame.low, piece.rows.frame.high)
        ]

    def store(self, undecided: list[Interval], now: Instant, out: list[Effect]) -> None:
        """Store these rows, which the alias queue let go of, and those that have not arrived."""
        self._closed_until = now + self._pass_again_ns
        self.close()
        for low, high in undecided:
            for entry, part_low, part_high in self._passing(low, high):
                self.store_again(self._pieces[entry.low], part_low, part_high, out)
                self._done(entry.low, part_low, part_high)
        for piece in self._arriving:
            low, high = piece.rows.frame.low, piece.rows.frame.high
            self._bytes -= piece.rows.frame.weight
            self.store_again(piece, low, high, out)
            self._done(low, low, high)
        self._arriving.clear()
        for piece in self._pieces.values():
            # What is left waits only for a note of ours.
            piece.since = now

    def store_again(self, piece: Piece, low: int, high: int, out: list[Effect]) -> None:
        """Store some of its rows here; what they were before belongs to nobody."""
        rows, old = piece.rows, piece.rows.frame
        frame = self._journal.place(old.slice(low, high).batch)
        first = rows.first_sequence + low - old.low
        again = RowsEntry(frame, rows.origin, first, rows.priority, rows.expires_at)
        if (low, high) == (old.low, old.high):
            piece.answer.first_position = frame.low
        piece.answer.wait += 1
        self._intake.store(again, piece.answer, out)

    def doubted(self, piece: Piece, low: int, high: int, reason: str) -> None:
        """Nobody knows whether the queue that these rows were left to has them."""
        rows = piece.rows
        first = rows.first_sequence + low - rows.frame.low
        self._journal.origins.remove(rows.origin, first, high - low)
        failure = PersistFailed(0, reason, uncertain=True)
        self._intake.fail(piece.answer, failure, first, high - low)

    def pending_ranges(self) -> list[OriginRange]:
        """The numbers that the table of origins has and nothing durable says."""
        return [part for piece in self._pieces.values() for part in piece.pending_ranges()]

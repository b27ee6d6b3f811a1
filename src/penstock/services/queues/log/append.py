"""Appending rows to a journal, and the answers that wait until the rows are durable.

1. Rows that are stored already are not stored again; the sender gets the same answer.
2. Answers are given in the order in which the rows arrived: a repeat that arrives before the
   original is durable waits for it.
3. If the store refuses the original, its repeat is refused too.
4. Rows that cannot be repeats are not entered in the table of origins: their sender is a part of
   this broker and gets every answer.
5. ``admit`` gives new rows their positions and ``append`` stores them.  Between the two an alias
   queue may decide to forward rows without storing them (``alias/pass_through``); their answer
   waits all the same.
6. After a failed sync it is unknown whether the rows are stored.  While the broker runs they are
   neither refused nor stored again: whoever repeats them gets the same answer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from penstock.content.rows.batch import Batch
from penstock.core.clock import Instant
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, PersistFailed
from penstock.mechanisms.sequence_table import OriginRange, UncertainNumbers
from penstock.services.queues.log.entries import Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import RowsEntry

Sender = TypeVar("Sender")

REPEAT_OF_REFUSED = "an earlier copy of these rows was refused by the store; send them again"


class AppendAnswer(Generic[Sender]):
    """What a sender is told about its rows; ``failure`` is empty if all of them are durable.

    With ``uncertain`` some of the rows may be durable although there is a failure.  ``wait`` counts
    the parts of the rows that are not durable yet.
    """

    __slots__ = (
        "count",
        "failure",
        "first_position",
        "first_sequence",
        "numbered",
        "origin",
        "sender",
        "uncertain",
        "wait",
    )

    def __init__(
        self,
        sender: Sender,
        origin: str,
        first_sequence: int,
        count: int,
        *,
        numbered: bool = True,
    ) -> None:
        self.sender = sender
        self.numbered = numbered
        self.origin = origin
        self.first_sequence = first_sequence
        self.count = count
        self.first_position = 0
        self.failure = ""
        self.uncertain = False
        self.wait = 0


class _UnconfirmedRows(Generic[Sender]):
    """An entry that the store has not confirmed."""

    __slots__ = ("answer", "entry")

    def __init__(self, entry: RowsEntry, answer: AppendAnswer[Sender]) -> None:
        self.entry = entry
        self.answer = answer


class Appender(Generic[Sender]):
    """The rows of one journal that are not durable yet, and the answers to their senders."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._origins = journal.origins
        self._pending: dict[int, _UnconfirmedRows[Sender]] = {}
        self._answers: deque[AppendAnswer[Sender]] = deque()
        self._unsure = UncertainNumbers()
        self.pending_bytes = 0
        self.pending_rows = 0

    # -- new rows ---------------------------------------------------------------------------

    def admit(
        self,
        sender: Sender,
        origin: str,
        first_sequence: int,
        batch: Batch,
        *,
        priority: int,
        expires_at: Instant = 0,
        prepared: bool = False,
    ) -> tuple[AppendAnswer[Sender], list[RowsEntry]]:
        """Give positions to the rows that are new.

        The answer waits until every returned entry is durable: by ``append``, or otherwise.
        """
        count = len(batch)
        answer: AppendAnswer[Sender] = AppendAnswer(sender, origin, first_sequence, count)
        self._answers.append(answer)
        entries: list[RowsEntry] = []
        if self._unsure.touches(origin, first_sequence, count):
            answer.failure, answer.uncertain = self._unsure.reason, True
            return answer, entries
        for low, high in self._origins.new_numbers(origin, first_sequence, count):
            whole = high - low == count
            part = batch if whole else batch.slice(low - first_sequence, high - first_sequence)
            frame = self._journal.place(part)
            if whole:
                answer.first_position = frame.low
            self._origins.add(origin, low, high - low)
            entries.append(RowsEntry(frame, origin, low, priority, expires_at, prepared))
        answer.wait = len(entries)
        return answer, entries

    def append_unnumbered(self, sender: Sender, entry: RowsEntry, out: list[Effect]) -> None:
        """Store rows that have their positions and cannot be repeats."""
        answer: AppendAnswer[Sender] = AppendAnswer(
            sender, entry.origin, entry.first_sequence, len(entry.frame), numbered=False
        )
        answer.first_position = entry.frame.low
        answer.wait = 1
        self._answers.append(answer)
        self.append(entry, answer, out)

    def append(self, entry: RowsEntry, answer: AppendAnswer[Sender], out: list[Effect]) -> None:
        """Order an entry into the journal; its answer waits for it."""
        self._pending[self._journal.append(entry, out)] = _UnconfirmedRows(entry, answer)
        self.pending_bytes += entry.frame.weight
        self.pending_rows += len(entry.frame)

    def may_be_repeat(self, origin: str, first_sequence: int, count: int) -> bool:
        """Whether some of these rows are or may be stored, so that they must not be refused."""
        if self._unsure.touches(origin, first_sequence, count):
            return True
        new = self._origins.new_numbers(origin, first_sequence, count)
        return new != [(first_sequence, first_sequence + count)]

    # -- answers ----------------------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None) -> RowsEntry | None:
        """Take the answer of the store; returns the entry if one became durable."""
        pending = self._pending.pop(token, None)
        if pending is None:
            return None
        entry, answer = pending.entry, pending.answer
        count = len(entry.frame)
        self.pending_bytes -= entry.frame.weight
        self.pending_rows -= count
        answer.wait -= 1
        if failure:
            if answer.numbered:
                self._origins.remove(entry.origin, entry.first_sequence, count)
            self.fail(answer, failure, entry.first_sequence, count)
            return None
        return entry

    def fail(
        self, answer: AppendAnswer[Sender], failure: PersistFailed, first_sequence: int, count: int
    ) -> None:
        """Report that these rows of an answer are not durable, or may not be."""
        answer.failure = failure.reason
        if failure.uncertain:
            answer.uncertain = True
            self._unsure.add(answer.origin, first_sequence, count, failure.reason)

    def answers(self) -> Iterator[AppendAnswer[Sender]]:
        """Remove and return the answers that wait for nothing, in order."""
        origins = self._origins
        while self._answers and not self._answers[0].wait:
            answer = self._answers.popleft()
            if answer.numbered:
                first, count = answer.first_sequence, answer.count
                missing = origins.new_numbers(answer.origin, first, count)
                if missing and not answer.failure:
                    answer.failure = REPEAT_OF_REFUSED
                if answer.failure and missing != [(first, first + count)]:
                    # A part of the rows went another way, and is stored.
                    answer.uncertain = True
            yield answer

    # -- what is pending --------------------------------------------------------------------

    @property
    def lowest_pending(self) -> int | None:
        """The position of the first row that the store has not confirmed."""
        for pending in self._pending.values():
            frame = pending.entry.frame
            return frame.low
        return None

    def pending_intervals(self) -> list[Interval]:
        """The positions of the rows that the store has not confirmed."""
        frames = (each.entry.frame for each in self._pending.values())
        return [(frame.low, frame.high) for frame in frames]

    def pending_ranges(self) -> list[OriginRange]:
        """The numbers that the table of origins has and the store has not confirmed."""
        return [
            (entry.origin, entry.first_sequence, len(entry.frame))
            for entry in (each.entry for each in self._pending.values() if each.answer.numbered)
        ]


def entry_of(rows: RowsEntry, *, recovered: bool = False, stored: bool = True) -> Entry:
    """The description of rows that is kept in memory."""
    return Entry(
        rows.frame,
        origin=rows.origin,
        first_sequence=rows.first_sequence,
        priority=rows.priority,
        expires_at=rows.expires_at,
        prepared=rows.in_doubt,
        recovered=recovered,
        stored=stored,
    )

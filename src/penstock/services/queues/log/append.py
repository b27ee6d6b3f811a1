"""Rows on their way into a journal, and the answers that wait for them.

1. Rows that are stored already are not stored again; the answer is the same.
2. Answers are given in the order in which the rows came: a repeat that arrives while the original
   is still on its way to the disk waits for it.
3. If the original is refused after all, so is its repeat.
4. Rows that cannot be repeats, because their sender is a part of this broker and hears every
   answer, are not numbered in the table of origins.
5. Whoever can make rows durable in another way than by this journal may take them over
   (penstock.services.queues.alias.pass_through); their answers wait all the same.
6. Rows of which nobody knows whether they are stored, because a sync failed, are neither refused
   nor stored again while the broker runs: whoever repeats them is told the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.machine import Effect, PersistFailed
from penstock.mechanisms.sequence_table import OriginRange, UncertainNumbers
from penstock.services.queues.log.entries import Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import RowsEntry

Sender = TypeVar("Sender")

REPEAT_OF_REFUSED = "an earlier copy of these rows was refused by the store; send them again"


class Answer(Generic[Sender]):
    """What a sender is to be told; ``failure`` is empty if everything is durable.

    If it is ``uncertain``, some of the rows may be durable all the same.
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


class _Pending(Generic[Sender]):
    """A piece on its way to the disk."""

    __slots__ = ("answer", "row_entry")

    def __init__(self, row_entry: RowsEntry, answer: Answer[Sender]) -> None:
        self.row_entry = row_entry
        self.answer = answer


class Intake(Generic[Sender]):
    """The way in of one queue."""

    def __init__(self, journal: Journal) -> None:
        """Nothing is under way; ``take_over`` says whether somebody else takes rows."""
        self.take_over: Callable[[RowsEntry, Answer[Sender]], bool] | None = None
        self._journal = journal
        self._pending: dict[int, _Pending[Sender]] = {}
        self._answers: deque[Answer[Sender]] = deque()
        self._unsure = UncertainNumbers()
        self.pending_bytes = 0
        self.pending_rows = 0

    def take(
        self,
        sender: Sender,
        origin: str,
        first_sequence: int,
        batch: Batch,
        out: list[Effect],
        *,
        priority: int,
        expires_at: Instant = 0,
        in_doubt: bool = False,
    ) -> None:
        """Store the rows that are new; ``answers`` tells when all of them are durable."""
        count = len(batch)
        answer: Answer[Sender] = Answer(sender, origin, first_sequence, count)
        self._answers.append(answer)
        if self._unsure.touches(origin, first_sequence, count):
            answer.failure, answer.uncertain = self._unsure.reason, True
            return
        for low, high in self._journal.origins.new_numbers(origin, first_sequence, count):
            whole = high - low == count
            part = batch if whole else batch.slice(low - first_sequence, high - first_sequence)
            frame = self._journal.place(part)
            if whole:
                answer.first_position = frame.low
            self._journal.origins.add(origin, low, high - low)
            entry = RowsEntry(frame, origin, low, priority, expires_at, in_doubt)
            answer.wait += 1
            if self.take_over is None or not self.take_over(entry, answer):
                self.store(entry, answer, out)

    def may_be_repeat(self, origin: str, first_sequence: int, count: int) -> bool:
        """Whether some of these rows are or may be stored: they must not be called refused."""
        if self._unsure.touches(origin, first_sequence, count):
            return True
        fresh = self._journal.origins.new_numbers(origin, first_sequence, count)
        return fresh != [(first_sequence, first_sequence + count)]

    def take_unnumbered(self, sender: Sender, entry: RowsEntry, out: list[Effect]) -> None:
        """Store rows that have their positions and cannot be repeats."""
        answer: Answer[Sender] = Answer(
            sender, entry.origin, entry.first_sequence, len(entry.frame), numbered=False
        )
        answer.first_position = entry.frame.low
        answer.wait = 1
        self._answers.append(answer)
        self.store(entry, answer, out)

    def store(self, entry: RowsEntry, answer: Answer[Sender], out: list[Effect]) -> None:
        """Order rows into the journal; the answer waits for them."""
        self._pending[self._journal.append(entry, out)] = _Pending(entry, answer)
        self.pending_bytes += entry.frame.weight
        self.pending_rows += len(entry.frame)

    def resolved(self, token: int, failure: PersistFailed | None) -> RowsEntry | None:
        """The store answered; the rows that became durable, if these were rows."""
        pending = self._pending.pop(token, None)
        if pending is None:
            return None
        entry, answer = pending.row_entry, pending.answer
        frame: Frame = entry.frame
        self.pending_bytes -= frame.weight
        self.pending_rows -= len(frame)
        answer.wait -= 1
        if failure:
            if answer.numbered:
                self._journal.origins.remove(entry.origin, entry.first_sequence, len(frame))
            self.fail(answer, failure, entry.first_sequence, len(frame))
            return None
        return entry

    def fail(
        self, answer: Answer[Sender], failure: PersistFailed, first_sequence: int, count: int
    ) -> None:
        """These rows of an answer are not durable, or nobody knows whether they are."""
        answer.failure = failure.reason
        if failure.uncertain:
            answer.uncertain = True
            self._unsure.add(answer.origin, first_sequence, count, failure.reason)

    def answers(self) -> Iterator[Answer[Sender]]:
        """What can be said now."""
        origins = self._journal.origins
        while self._answers and not self._answers[0].wait:
            answer = self._answers.popleft()
            if not answer.failure and answer.numbered:
                first, count = answer.first_sequence, answer.count
                if origins.new_numbers(answer.origin, first, count):
                    answer.failure = REPEAT_OF_REFUSED
            yield answer

    @property
    def lowest_pending(self) -> int | None:
        """The first row on its way to the disk, if there is one."""
        for pending in self._pending.values():
            return pending.row_entry.frame.low
        return None

    def pending_ranges(self) -> list[OriginRange]:
        """The rows that the table of origins has and the store has not confirmed."""
        return [
            (each.row_entry.origin, each.row_entry.first_sequence, len(each.row_entry.frame))
            for each in self._pending.values()
            if each.answer.numbered
        ]


def entry_of(rows: RowsEntry, *, recovered: bool = False, stored: bool = True) -> Entry:
    """The description of rows."""
    return Entry(
        rows.frame,
        origin=rows.origin,
        first_sequence=rows.first_sequence,
        priority=rows.priority,
        expires_at=rows.expires_at,
        in_doubt=rows.in_doubt,
        recovered=recovered,
        stored=stored,
    )

"""The journal of a queue: one log of rows and notes, and the checkpoint that a restart needs.

1. Each row takes one position, and so does each note.  A note is written after the rows that it is
   about, so a prefix whose rows are all settled can be trimmed together with its notes: nothing
   that is left refers to it.
2. Nothing counts before the store has confirmed that it is durable.
3. A restart reads the journal from its start.  Of the part that was trimmed it needs only the table
   of origins and a few other values, which a checkpoint saves beside the log.  A trim therefore
   never goes beyond the position up to which the last checkpoint is correct: the first position
   that the store had not confirmed.  After a failed sync that is the first position of which it is
   unknown whether it is stored: a restart may find the entry there.
4. Positions that the store refused are never used again.
5. What the disk can no longer read is given up: rows are lost, and rows that were settled by a lost
   note are delivered again.  ``lost`` holds these positions.
6. Positions can be used without storing anything at them, if they were reserved durably before: a
   restart does not use them again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import (
    Effect,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    ReadLog,
    TrimLog,
)
from penstock.mechanisms.sequence_table import OriginRange, SequenceTable
from penstock.services.queues.context import QueueContext
from penstock.services.queues.messages import (
    DecisionEntry,
    RowsEntry,
    SenderEntry,
    SettlementEntry,
)


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """What is saved beside a journal: correct for everything below ``complete_to``."""

    complete_to: int
    origins: list[tuple[str, list[Interval]]]
    extra: dict[str, list[Interval]]
    instances: dict[str, int] = {}


JournalEntry: TypeAlias = RowsEntry | SenderEntry | SettlementEntry | DecisionEntry

FIRST_POSITION = 1
"""Positions start here: 0 means "unknown" in receipts."""

RESERVED_AT_ONCE: Final = 1 << 20
"""Positions of one reservation: at a million messages a second still one small write a second."""


class Journal:
    """Positions, orders to the store, recovery and trimming of one log."""

    def __init__(self, log: str, context: QueueContext) -> None:
        self.log = log
        parameters = context.parameters
        self.origins = SequenceTable(parameters.origin_limit)
        self._instances = self.origins.instances
        self.recovered_extra: dict[str, list[Interval]] = {}
        self._read_bytes = parameters.read_bytes
        self._checkpoint_ns = parameters.checkpoint_ns
        self._tokens = context.tokens
        self._state_key = f"{log}/checkpoint"
        first, end, _ = context.logs.get(log, (FIRST_POSITION, FIRST_POSITION, 0))
        self.trimmed_below = first
        self.assigned_end = max(end, FIRST_POSITION)
        self.checkpointed_to = FIRST_POSITION
        self._read_from = first
        self._read_to = end
        self._recovery_token: int | None = None
        self.ready = False
        self.closed_because = ""
        self.lost = IntervalSet()
        self._checkpoint_token: int | None = None
        self._checkpoint_position = 0
        self._checkpoint_at = context.now + parameters.checkpoint_ns
        self._appended = 0
        self._requested = False
        self._pending: dict[int, int] = {}
        self._uncertain_from: int | None = None
        self._reserved_key = f"{log}/reserved"
        self._reserve_token: int | None = None
        self._reserving_to = 0
        self._reserved_to = 0
        reserved = context.saved.get(self._reserved_key)
        if reserved is not None:
            self.assigned_end = max(self.assigned_end, msgspec.msgpack.decode(reserved, type=int))
        kept = context.saved.get(self._state_key)
        if kept is not None:
            checkpoint = msgspec.msgpack.decode(kept, type=Checkpoint)
            self.origins.load(checkpoint.origins)
            self._instances.load(checkpoint.instances)
            self.recovered_extra = checkpoint.extra
            self.checkpointed_to = checkpoint.complete_to
            # A log that was trimmed to nothing may be gone: its positions stay used.
            self.assigned_end = max(self.assigned_end, checkpoint.complete_to)

    # -- recovery ---------------------------------------------------------------------------

    def start(self, out: list[Effect]) -> None:
        """Order the next read of what the log held at the start; ready if there is nothing left."""
        if self._read_from >= self._read_to:
            self.ready = True
            return
        self._recovery_token = self._tokens.take(self.log)
        out.append(
            ReadLog(
                self._recovery_token,
                self.log,
                self._read_from,
                self._read_to,
                self._read_bytes,
            )
        )

    def sender_found(self, entry: SenderEntry) -> None:
        """Recover a note that says which instance has an origin's name."""
        if self.is_unsaved(entry):
            self._instances.note(entry.origin, entry.instance)

    def is_unsaved(self, entry: JournalEntry) -> bool:
        """Whether the checkpoint that a restart has loaded does not cover an entry."""
        return entry.frame.low >= self.checkpointed_to

    def is_recovery(self, token: int) -> bool:
        """Whether a read belongs to the recovery."""
        return token == self._recovery_token

    def recovered(self, fact: LogRead, out: list[Effect]) -> bool:
        """Take a piece of the journal that was read; True when it was the last.

        A read without progress (a disk that fails) is repeated.
        """
        self.note_lost(fact)
        self._read_from = max(self._read_from, fact.complete_to)
        self._recovery_token = None
        self.start(out)
        return self.ready

    def note_lost(self, fact: LogRead) -> None:
        """Remember the positions that the disk could not read."""
        for interval in fact.lost:
            self.lost.add(*interval)

    # -- writing ----------------------------------------------------------------------------

    def place(self, batch: Batch) -> Frame:
        """Give rows their positions."""
        low = self.assigned_end
        self.assigned_end = low + len(batch)
        return Frame(low, self.assigned_end, range(low, self.assigned_end), batch)

    def note(self) -> Frame:
        """A position for a note."""
        low = self.assigned_end
        self.assigned_end = low + 1
        return Frame(low, self.assigned_end)

    def append(self, entry: JournalEntry, out: list[Effect]) -> int:
        """Order an entry into the log; returns the token of the order."""
        token = self._tokens.take(self.log)
        self._appended += 1
        self._pending[token] = entry.frame.low
        out.append(Persist(token, self.log, entry))
        return token

    def resolved(self, token: int, failure: PersistFailed | None) -> bool:
        """Take the answer to an order; True if the order was the checkpoint."""
        position = self._pending.pop(token, None)
        if position is not None and failure is not None and failure.uncertain:
            self.closed_because = self.closed_because or failure.reason
            known = self._uncertain_from
            self._uncertain_from = position if known is None else min(known, position)
        if token == self._reserve_token:
            self._reserve_token = None
            self._reserved_to = self._reserved_to if failure else self._reserving_to
        if token != self._checkpoint_token:
            return False
        self._checkpoint_token = None
        if failure:
            self._appended += 1
        else:
            self.checkpointed_to = self._checkpoint_position
        return True

    def read(self, low: int, high: int, out: list[Effect]) -> int:
        """Order bodies to be read from the log; returns the token of the order."""
        token = self._tokens.take(self.log)
        out.append(ReadLog(token, self.log, low, high, self._read_bytes))
        return token

    @property
    def lowest_pending(self) -> int:
        """The first position that the store has not confirmed; the end if there is none."""
        lowest = next(iter(self._pending.values()), self.assigned_end)
        return lowest if self._uncertain_from is None else min(lowest, self._uncertain_from)

    # -- reservation ------------------------------------------------------------------------

    def reserve(self, out: list[Effect]) -> None:
        """Reserve further positions if less than half of a reservation is left."""
        ahead = self._reserved_to - self.assigned_end
        if self._reserve_token is None and ahead < RESERVED_AT_ONCE // 2:
            self._reserving_to = self.assigned_end + RESERVED_AT_ONCE
            self._reserve_token = self._tokens.take(self.log)
            value = msgspec.msgpack.encode(self._reserving_to)
            out.append(PersistState(self._reserve_token, {self._reserved_key: value}))

    def is_reserved(self, below: int) -> bool:
        """Whether all positions below this one are reserved, so that no restart uses them."""
        return below <= self._reserved_to

    # -- trimming ---------------------------------------------------------------------------

    def checkpoint(
        self,
        pending: Iterable[OriginRange],
        extra: dict[str, list[Interval]],
        now: Instant,
        out: list[Effect],
    ) -> bool:
        """Order a checkpoint if anything has changed since the last one; False if not.

        ``pending`` are the rows that the table of origins has and the store has not confirmed: the
        saved table leaves them out, because the store may still refuse them.
        """
        self._checkpoint_at = now + self._checkpoint_ns
        if not self.ready or self._checkpoint_token is not None:
            return False
        if not self._appended and not self._requested:
            return False
        self._appended = len(self._pending)
        self._requested = False
        self._checkpoint_position = self.lowest_pending
        self._checkpoint_token = self._tokens.take(self.log)
        origins = self.origins.dump(pending)
        instances = self._instances.dump()
        saved = Checkpoint(self._checkpoint_position, origins, extra, instances)
        value = msgspec.msgpack.encode(saved)
        out.append(PersistState(self._checkpoint_token, {self._state_key: value}))
        return True

    def request_checkpoint(self) -> None:
        """Request a checkpoint although nothing was appended to this log."""
        self._requested = True

    def checkpoint_at(self) -> Instant | None:
        """When the next checkpoint is due; None while nothing has changed."""
        return self._checkpoint_at if self._appended or self._requested else None

    def trim(self, lowest_needed: int | None, out: list[Effect]) -> None:
        """Trim the log below the checkpoint and below the first position that is needed."""
        below = self.checkpointed_to
        if lowest_needed is not None:
            below = min(below, lowest_needed)
        if below > self.trimmed_below:
            self.trimmed_below = below
            self.lost.remove(0, below)
            out.append(TrimLog(self.log, below))

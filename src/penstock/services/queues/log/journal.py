"""The journal of a queue: rows and notes in one log, and what a restart needs to know.

1. Rows take as many positions as there are, a note takes one.  A note stands behind the rows that
   it speaks of, so a prefix whose rows are all settled can be trimmed with its notes: nothing that
   is left refers to it.
2. Nothing counts before the store has said that it is durable.
3. A restart reads the journal from its start; what was trimmed matters only through the table of
   origins and a few other values, which are saved beside it.  Trimming therefore never goes beyond
   the position up to which the last save is right: the first that the store had not confirmed.
4. Positions that the store refused are never used again.
5. What the disk can no longer read is given up: rows are lost, and rows that were settled by a note
   that is lost are handed out again.  ``lost`` tells where.
6. Positions may be spoken of although nothing is stored at them, if they were reserved durably
   before: a restart uses none of them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import OriginRange, SequenceTable
from penstock.services.queues.messages import (
    DecisionEntry,
    RowsEntry,
    SenderEntry,
    SettlementEntry,
)
from penstock.services.queues.parameters import QueueParameters


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """What is saved beside a journal; right up to (excluding) ``complete_to``."""

    complete_to: int
    origins: list[tuple[str, list[Interval]]]
    extra: dict[str, list[Interval]]
    instances: dict[str, int] = {}


JournalEntry: TypeAlias = RowsEntry | SenderEntry | SettlementEntry | DecisionEntry

FIRST_POSITION = 1
"""Positions start here: 0 stands for "unknown" in receipts."""

RESERVED_AT_ONCE: Final = 1 << 20
"""Positions of one reservation: at a million messages a second still one small write a second."""


class Journal:
    """Positions, orders to the store, recovery and trimming of one log."""

    def __init__(
        self,
        log: str,
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.log = log
        self.origins = SequenceTable(parameters.origin_limit)
        self.recovered_extra: dict[str, list[Interval]] = {}
        self._parameters = parameters
        self._tokens = tokens
        self._state_key = f"{log}/checkpoint"
        first, end, _ = logs.get(log, (FIRST_POSITION, FIRST_POSITION, 0))
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
        self._checkpoint_at = now + parameters.checkpoint_ns
        self._appended = 0
        self._news = False
        self._pending: dict[int, int] = {}
        self._reserved_key = f"{log}/reserved"
        self._reserve_token: int | None = None
        self._reserving_to = 0
        self._reserved_to = 0
        reserved = saved.get(self._reserved_key)
        if reserved is not None:
            self.assigned_end = max(self.assigned_end, msgspec.msgpack.decode(reserved, type=int))
        kept = saved.get(self._state_key)
        if kept is not None:
            checkpoint = msgspec.msgpack.decode(kept, type=Checkpoint)
            self.origins.load(checkpoint.origins)
            self.origins.instances.load(checkpoint.instances)
            self.recovered_extra = checkpoint.extra
            self.checkpointed_to = checkpoint.complete_to
            # A log that was trimmed to nothing may be gone: its positions stay used.
            self.assigned_end = max(self.assigned_end, checkpoint.complete_to)

    # -- recovery ---------------------------------------------------------------------------

    def start(self, out: list[Effect]) -> None:
        """Begin to read what is there."""
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
                self._parameters.read_bytes,
            )
        )

    def sender_found(self, entry: SenderEntry) -> None:
        """A note on who has a name was read."""
        if entry.frame.low >= self.checkpointed_to:
            self.origins.instances.note(entry.origin, entry.instance)

    def is_recovery(self, token: int) -> bool:
        """Whether a read was one of the recovery's."""
        return token == self._recovery_token

    def recovered(self, fact: LogRead, out: list[Effect]) -> bool:
        """A piece of the journal was read; True when that was all.

        A read that got nowhere (a disk that fails) is repeated until it does.
        """
        self.note_lost(fact)
        self._read_from = max(self._read_from, fact.complete_to)
        self._recovery_token = None
        self.start(out)
        return self.ready

    def note_lost(self, fact: LogRead) -> None:
        """Remember what a read could not read."""
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
        """Order an entry into the log; the token of the order."""
        token = self._tokens.take(self.log)
        self._appended += 1
        self._pending[token] = entry.frame.low
        out.append(Persist(token, self.log, entry))
        return token

    def resolved(self, token: int, failure: PersistFailed | None) -> bool:
        """The store answered an order; True if it was the checkpoint's."""
        appended = self._pending.pop(token, None) is not None
        if appended and failure is not None and failure.uncertain:
            self.closed_because = self.closed_because or failure.reason
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
        """Order bodies back from the log; the token of the order."""
        token = self._tokens.take(self.log)
        out.append(ReadLog(token, self.log, low, high, self._parameters.read_bytes))
        return token

    @property
    def lowest_pending(self) -> int:
        """The first position that the store has not confirmed; the end if there is none."""
        return next(iter(self._pending.values()), self.assigned_end)

    # -- reservation ------------------------------------------------------------------------

    def reserve(self, out: list[Effect]) -> None:
        """See to it that positions ahead are reserved."""
        ahead = self._reserved_to - self.assigned_end
        if self._reserve_token is None and ahead < RESERVED_AT_ONCE // 2:
            self._reserving_to = self.assigned_end + RESERVED_AT_ONCE
            self._reserve_token = self._tokens.take(self.log)
            value = msgspec.msgpack.encode(self._reserving_to)
            out.append(PersistState(self._reserve_token, {self._reserved_key: value}))

    def is_reserved(self, below: int) -> bool:
        """Whether a restart leaves every position below this one unused."""
        return below <= self._reserved_to

    # -- trimming ---------------------------------------------------------------------------

    def checkpoint(
        self,
        pending: Iterable[OriginRange],
        extra: dict[str, list[Interval]],
        now: Instant,
        out: list[Effect],
    ) -> bool:
        """Save what a restart needs, if something happened since the last time; whether it did.

        ``pending`` are the rows that the table of origins has and the store has not confirmed: a
        saved table must not claim them, for the store may yet refuse them.
        """
        self._checkpoint_at = now + self._parameters.checkpoint_ns
        if not self.ready or self._checkpoint_token is not None:
            return False
        if not self._appended and not self._news:
            return False
        self._appended = len(self._pending)
        self._news = False
        self._checkpoint_position = self.lowest_pending
        self._checkpoint_token = self._tokens.take(self.log)
        origins = self.origins.dump(pending)
        instances = self.origins.instances.dump()
        saved = Checkpoint(self._checkpoint_position, origins, extra, instances)
        value = msgspec.msgpack.encode(saved)
        out.append(PersistState(self._checkpoint_token, {self._state_key: value}))
        return True

    def has_news(self) -> None:
        """Something that a save should have changed, although nothing was written here."""
        self._news = True

    def checkpoint_at(self) -> Instant | None:
        """When to save next; None while nothing was written."""
        return self._checkpoint_at if self._appended or self._news else None

    def trim(self, lowest_needed: int | None, out: list[Effect]) -> None:
        """Give back what nobody needs."""
        below = self.checkpointed_to
        if lowest_needed is not None:
            below = min(below, lowest_needed)
        if below > self.trimmed_below:
            self.trimmed_below = below
            self.lost.remove(0, below)
            out.append(TrimLog(self.log, below))

"""What a broker asks of its store, whatever the store is made of.

A store keeps *logs* (named, append-only, ordered by tick) and *state* (small named values).  The
network world uses ``penstock.store.disk.DiskStore``; the simulator uses
``penstock.store.faulty.MemoryStore``.  Both obey these rules:

1. A record covers the ticks ``[low, high)`` with ``low < high``.  Within a log each record starts
   at or above the end of the one before; ticks between records are silence.
2. ``append`` and ``set_state`` are orders with a token, different from every other that has not
   come back.  They return at once; the token comes back in a ``Commit``, as durable or as failed.
   The durable tokens of a commit are given in the order in which they were ordered.  A state change
   completes no earlier than an append ordered before it, and whatever became of that append.
3. A log has no holes.  When an append fails, so does every later append to the same log, until the
   caller says ``resume_after(failure)``: only then does it know what is missing, and only then may
   a record be put behind the gap.  Appends ordered before that call fail even if they are
   committed after it.
4. ``read`` and ``bounds`` see only what is durable.  Durable records that can no longer be read, or
   that are missing, are told as lost intervals; what lies behind them can be read.
5. ``trim`` takes effect at once and never reaches above the durable end.  It is a permission, not
   an order: after a crash a log may start lower than it was trimmed to, never higher.
6. What has been accepted but not committed is bounded by ``max_pending_bytes``; beyond it, orders
   raise ``StoreOverloaded`` instead of waiting, so the caller must watch ``pending_bytes``.  An
   append that raises was never part of the log: if a later record is ordered instead of it, its
   ticks are silence.
"""

from __future__ import annotations

from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.core.intervals import Interval, Tick

Token: TypeAlias = int
LogName: TypeAlias = str

Written = TypeVar("Written", contravariant=True)
Stored = TypeVar("Stored", covariant=True)


class StoreError(Exception):
    """The store cannot do what was asked."""


class StoreOverloaded(StoreError):
    """Accepting this order would exceed ``max_pending_bytes``; try again after a commit."""


class StoreClosed(StoreError):
    """The store was closed, or its commit thread has ended."""


class OutOfOrder(StoreError):
    """A record starts below the end of the log, or covers nothing."""


class RecordTooLarge(StoreError):
    """A record does not fit into one segment."""


class StoreInUse(StoreError):
    """Another process has the store's directory open."""


class CorruptLog(StoreError):
    """A log cannot be opened, because its files do not belong together; nothing was changed."""


class CorruptState(StoreError):
    """The state database is not one that this version of the store wrote."""


class Record(msgspec.Struct, Generic[Stored], frozen=True, gc=False):
    """One stored record, with the interval that it covers."""

    low: Tick
    high: Tick
    data: Stored


class LogSlice(msgspec.Struct, Generic[Stored], frozen=True):
    """The records that touch an interval, in order.

    Every tick of ``[complete_from, complete_to)`` that no record covers is silence.
    ``complete_from`` is above the ``low`` that was asked for when the log was trimmed there;
    ``complete_to`` is below the ``high`` that was asked for when the limit on bytes or the durable
    end of the log was reached first.  The first record may start below ``complete_from`` and the
    last may end above ``complete_to``: records are never cut.

    The ticks of ``lost``, ascending intervals inside ``[complete_from, complete_to)``, are neither
    records nor silence: they held something that was damaged.
    """

    records: list[Record[Stored]]
    complete_from: Tick
    complete_to: Tick
    lost: tuple[Interval, ...] = ()


class LogBounds(msgspec.Struct, frozen=True):
    """What a log holds: nothing at or above ``first_low`` was discarded, ``end_high`` is its end.

    ``stored_bytes`` is the durable data, framing included, that has not been given back yet.
    """

    first_low: Tick
    end_high: Tick
    stored_bytes: int


class Failure(msgspec.Struct, frozen=True):
    """One order that was not carried out.

    ``log`` is None for a state change.  If it is ``retriable``, nothing of the order is durable and
    the same may succeed later.  If not, a sync has failed, and the log or the state refuses
    everything until the store is opened again.  If it is ``uncertain``, the order itself was
    written before the sync failed: only opening the store again can tell whether it is durable.
    ``epoch`` is for ``resume_after``.
    """

    token: Token
    log: LogName | None
    reason: str
    retriable: bool
    epoch: int = 0
    uncertain: bool = False


class Commit(msgspec.Struct, frozen=True):
    """What one commit completed."""

    durable: list[Token]
    failed: list[Failure]


class LogStore(Protocol[Written, Stored]):
    """The store as a broker sees it: ``Written`` is what it appends, ``Stored`` what it reads."""

    @property
    def pending_bytes(self) -> int:
        """How much has been accepted and not yet committed."""
        ...

    @property
    def max_pending_bytes(self) -> int:
        """Above this the store accepts nothing more."""
        ...

    def log_names(self) -> list[LogName]:
        """The logs that exist, sorted."""
        ...

    def append(self, token: Token, log: LogName, low: Tick, high: Tick, data: Written) -> None:
        """Order a record at the end of a log; a log exists from its first append on."""
        ...

    def set_state(self, token: Token, values: dict[str, bytes | None]) -> None:
        """Order a change of named values in one transaction; None deletes."""
        ...

    def resume_after(self, failure: Failure) -> None:
        """Say that a failure is known, so that later appends to its log are tried again."""
        ...

    def read(
        self, log: LogName, low: Tick, high: Tick, max_bytes: int, max_records: int = 0
    ) -> LogSlice[Stored]:
        """The durable records that touch ``[low, high)``.

        At least one record is given if there is one, and then as many as fit into ``max_bytes``, up
        to ``max_records`` unless that is 0.
        """
        ...

    def trim(self, log: LogName, below: Tick) -> None:
        """Allow everything below a tick to be given back."""
        ...

    def bounds(self, log: LogName) -> LogBounds:
        """Where a log starts and ends; all zero for a log that does not exist."""
        ...

    def lost(self) -> dict[LogName, tuple[Interval, ...]]:
        """What is known to be damaged or missing, of the logs that have any such interval."""
        ...

    def load_state(self) -> dict[str, bytes]:
        """All named values that are durable."""
        ...

    def close(self) -> None:
        """Commit what was accepted, and let go."""
        ...

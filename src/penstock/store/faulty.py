"""A store in memory that fails the way disks fail, for the simulator.

It obeys the rules of ``interface`` and is deterministic and pure: nothing happens by itself.

1. ``append`` and ``set_state`` put orders into a buffer; ``sync`` makes the oldest of them durable
   and gives the commit that a disk store would report.  A driver that models the time of a sync
   notes ``unsynced_orders`` when the sync begins and syncs that many when it ends.
2. ``full`` makes orders fail, as a full disk does; the failures are reported by ``sync``, in order.
3. ``crash`` is a loss of power.  Of the orders that were not synced, some number survive whole, as
   if their commit had just ended; of the appends behind them each log keeps a prefix, as if the
   commit under way had been torn there (what recovery would cut off is gone); state changes behind
   them are lost.  After it the store is as if opened again.
4. ``failing_sync`` makes the next ``sync`` fail for the first log (or the state) that it is to make
   durable: what it was to make durable there is uncertain, and everything that follows there is
   refused, until ``crash``, which decides what of it is there.
5. ``lying`` makes ``sync`` report what it has not done, as a disk with a volatile cache does: the
   orders look durable and are at risk in a crash, until a sync that does not lie.

6. ``damage`` makes one durable record of a log unreadable.

Records are kept as the objects that they are, with a size that ``size_of`` gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from random import Random
from typing import Final, Generic, TypeVar

import msgspec

from penstock.core.intervals import Interval, Tick
from penstock.store.admission import check_room
from penstock.store.interface import (
    Commit,
    Failure,
    LogName,
    Record,
    Token,
)
from penstock.store.logs_by_name import LogsByName
from penstock.store.memory_log import MemoryLog
from penstock.store.orders import StateChange, state_change

Data = TypeVar("Data")

DEFAULT_MAX_PENDING_BYTES: Final = 64_000_000  # the same as a disk store's

SYNC_FAILED: Final = "the sync failed, so it is unknown what is on the disk; start the broker again"


class _PendingAppend(msgspec.Struct, Generic[Data], frozen=True, gc=False):
    """An append in the buffer; the log has its record already, unless it failed."""

    token: Token
    log: MemoryLog[Data]
    size_bytes: int
    failure: Failure | None


class _PendingChange(msgspec.Struct, frozen=True, gc=False):
    """A state change in the buffer."""

    token: Token
    change: StateChange
    size_bytes: int
    failure: Failure | None


class MemoryStore(LogsByName[Data, Data], Generic[Data]):
    """A store in memory, with its faults."""

    def __init__(
        self,
        size_of: Callable[[Data], int],
        *,
        max_pending_bytes: int = DEFAULT_MAX_PENDING_BYTES,
    ) -> None:
        """Start empty, on a disk that works."""
        self.full = False
        self.lying = False
        self.failing_sync = False
        self._size_of = size_of
        self._max_pending_bytes = max_pending_bytes
        self._pending_bytes = 0
        self._logs: dict[LogName, MemoryLog[Data]] = {}
        self._state: dict[str, bytes] = {}
        self._stable_state: dict[str, bytes] = {}
        self._unsynced: deque[_PendingAppend[Data] | _PendingChange] = deque()
        self._at_risk: list[_PendingAppend[Data] | _PendingChange] = []  # reported, not stable
        self._unsure: list[_PendingAppend[Data] | _PendingChange] = []  # their sync failed
        self._state_closed = False

    @property
    def pending_bytes(self) -> int:
        """How much has been accepted and not yet synced."""
        return self._pending_bytes

    @property
    def max_pending_bytes(self) -> int:
        """Above this the store accepts nothing more."""
        return self._max_pending_bytes

    @property
    def unsynced_orders(self) -> int:
        """How many orders wait for a sync."""
        return len(self._unsynced)

    def append(self, token: Token, log: LogName, low: Tick, high: Tick, data: Data) -> None:
        """Order a record at the end of a log."""
        into = self._logs.get(log)
        if into is None:
            into = self._logs[log] = MemoryLog(log)
        front = into.front
        front.check(low, high)
        size_bytes = self._size_of(data)
        self._accept(size_bytes)
        front.accepted_high = high
        failure = None
        if into.closed:
            failure = Failure(token, log, SYNC_FAILED, retriable=False, epoch=front.epoch)
        elif self.full or front.epoch == into.refused_epoch:
            into.refused_epoch = front.epoch
            failure = self._failure(token, log, front.epoch)
        else:
            into.add(Record(low, high, data), size_bytes)
        self._unsynced.append(_PendingAppend(token, into, size_bytes, failure))

    def set_state(self, token: Token, values: dict[str, bytes | None]) -> None:
        """Order a change of named values in one transaction; None deletes."""
        change = state_change(token, values)
        self._accept(change.size_bytes)
        failure = self._failure(token, None, 0) if self.full else None
        if self._state_closed:
            failure = Failure(token, None, SYNC_FAILED, retriable=False)
        self._unsynced.append(_PendingChange(token, change, change.size_bytes, failure))

    def resume_after(self, failure: Failure) -> None:
        """Say that a failure is known, so that later appends to its log are tried again."""
        if failure.log is None:
            return
        log = self._logs[failure.log]
        log.front.resume_after(failure, log.end_high())

    def trim(self, log: LogName, below: Tick) -> None:
        """Give back what lies below a tick."""
        found = self._logs.get(log)
        if found is not None:
            found.trim(below)

    def damage(self, log: LogName, random: Random) -> Interval | None:
        """Make one durable record unreadable; the interval that is lost, if there was a record."""
        found = self._logs.get(log)
        return None if found is None else found.damage(random)

    def load_state(self) -> dict[str, bytes]:
        """All named values that are durable."""
        return dict(self._state)

    def close(self) -> None:
        """Nothing is held that must be let go; orders that wait stay unsynced."""

    def sync(self, count: int | None = None) -> Commit:
        """Make the oldest ``count`` orders durable, or all."""
        count = len(self._unsynced) if count is None else min(count, len(self._unsynced))
        orders = [self._unsynced.popleft() for _ in range(count)]
        durable: list[Token] = []
        failed: list[Failure] = []
        for order in orders:
            self._pending_bytes -= order.size_bytes
            failure = order.failure or self._sync_failure(order)
            if failure is not None:
                failed.append(failure)
                continue
            durable.append(order.token)
            self._at_risk.append(order)
            if isinstance(order, _PendingAppend):
                order.log.visible += 1
                order.log.stored_bytes += order.size_bytes
            else:
                _apply(order.change, self._state)
        if not self.lying:
            self._make_stable(self._at_risk)
            self._at_risk.clear()
        return Commit(durable, failed)

    def _sync_failure(self, order: _PendingAppend[Data] | _PendingChange) -> Failure | None:
        """What becomes of an order whose sync fails; None if it does not."""
        log = order.log if isinstance(order, _PendingAppend) else None
        closed = self._state_closed if log is None else log.closed
        if not closed and not self.failing_sync:
            return None
        self.failing_sync = False
        name = None
        if log is None:
            self._state_closed = True
        else:
            log.closed = True
            name = log.front.name
        self._unsure.append(order)
        epoch = 0 if log is None else log.front.epoch
        return Failure(order.token, name, SYNC_FAILED, False, epoch, uncertain=True)

    def crash(self, random: Random) -> int:
        """Lose power, and open the store again; how many records were lost."""
        # Nothing was made durable behind what is unsure in the same log, or of the state.
        self._at_risk.extend(self._unsure)
        self._at_risk.extend(order for order in self._unsynced if order.failure is None)
        self._make_stable(self._at_risk[: random.randint(0, len(self._at_risk))])
        lost = 0
        for log in self._logs.values():
            torn = len(log.records) - log.stable
            lost += log.keep(log.stable + (random.randint(0, torn) if torn else 0))
        self._state = dict(self._stable_state)
        self._at_risk.clear()
        self._unsure.clear()
        self._unsynced.clear()
        self._state_closed = False
        self.failing_sync = False
        self._pending_bytes = 0
        return lost

    def _accept(self, size_bytes: int) -> None:
        check_room(self._pending_bytes, size_bytes, self._max_pending_bytes)
        self._pending_bytes += size_bytes

    def _failure(self, token: Token, log: LogName | None, epoch: int) -> Failure:
        return Failure(token, log, "the disk is full", retriable=True, epoch=epoch)

    def _make_stable(self, orders: list[_PendingAppend[Data] | _PendingChange]) -> None:
        for order in orders:
            if isinstance(order, _PendingAppend):
                order.log.stable += 1
            else:
                _apply(order.change, self._stable_state)


def _apply(change: StateChange, state: dict[str, bytes]) -> None:
    for key, value in change.values.items():
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value

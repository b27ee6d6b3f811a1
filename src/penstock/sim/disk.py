"""A modelled disk: the in-memory store, plus the time that a sync takes.

One sync runs at a time and covers every order issued before it began, as group commit does.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Protocol

import msgspec

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import (
    Fact,
    LogRead,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    ReadLog,
    TrimLog,
)
from penstock.store.faulty import MemoryStore
from penstock.store.interface import Commit, StoreOverloaded


class DiskModel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sync_ns: Duration = MILLISECOND
    """Duration of one sync; 0.25 ms to 4 ms were measured on real machines."""
    read_ns: Duration = MILLISECOND // 10


class Timetable(Protocol):
    """What a disk needs of time: a ``Scheduler``, or an event loop behind the same two names."""

    @property
    def now(self) -> Instant:
        """The present instant."""

    def at(self, instant: Instant, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back at an instant."""


class SimDisk:
    """The store of one broker; survives the broker's crashes."""

    def __init__(self, model: DiskModel, scheduler: Timetable) -> None:
        self.model = model
        self.store: MemoryStore[Any] = MemoryStore(lambda entry: entry.frame.weight)
        self._scheduler = scheduler
        self._syncing = False
        self._generation = 0
        self._tell: Callable[[Fact], None] = lambda fact: None

    def attach(self, tell: Callable[[Fact], None]) -> None:
        """Connect a started broker, which receives the outcomes of its orders."""
        self._tell = tell

    def order(self, effect: Persist | PersistState) -> None:
        """Carry out an order to store something."""
        try:
            if isinstance(effect, Persist):
                frame = effect.frame.frame
                self.store.append(effect.token, effect.log, frame.low, frame.high, effect.frame)
            else:
                self.store.set_state(effect.token, effect.values)
        except StoreOverloaded as error:
            now = self._scheduler.now
            failed = PersistFailed(effect.token, str(error))
            self._scheduler.at(now, self._report, failed, self._generation)
            return
        if not self._syncing:
            self._begin_sync()

    def _begin_sync(self) -> None:
        self._syncing = True
        count = self.store.unsynced_orders
        done = self._scheduler.now + self.model.sync_ns
        self._scheduler.at(done, self._end_sync, count, self._generation)

    def _end_sync(self, count: int, generation: int) -> None:
        if generation != self._generation:
            return
        commit: Commit = self.store.sync(count)
        self._syncing = False
        if self.store.unsynced_orders:
            self._begin_sync()
        failed = {failure.token: failure for failure in commit.failed}
        for token in commit.durable:
            self._tell(Persisted(token))
        for token, failure in failed.items():
            self.store.resume_after(failure)
            self._tell(PersistFailed(token, failure.reason, failure.uncertain))

    def read(self, effect: ReadLog) -> None:
        limits = (effect.max_bytes, effect.max_frames)
        found = self.store.read(effect.log, effect.low, effect.high, *limits)
        frames = tuple(record.data for record in found.records)
        fact = LogRead(effect.token, frames, found.complete_to, found.complete_from, found.lost)
        at = self._scheduler.now + self.model.read_ns
        self._scheduler.at(at, self._report, fact, self._generation)

    def _report(self, fact: Fact, generation: int) -> None:
        if generation == self._generation:
            self._tell(fact)

    def trim(self, effect: TrimLog) -> None:
        self.store.trim(effect.log, effect.below)

    def crash(self, random: Random) -> None:
        """Simulate a power loss of the broker's machine."""
        self._generation += 1
        self._syncing = False
        self._tell = lambda fact: None
        self.store.crash(random)

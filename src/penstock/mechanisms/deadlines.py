"""Deadlines of many parts of one machine, and the earliest of them.

A machine with a thousand streams must not ask each of them after every message.  Parts announce
their deadline when it changes; the earliest is found in a heap, whose outdated entries are passed
over when they surface.  A far deadline that moves with every message would leave an entry each
time, so the heap is rebuilt when most of it is outdated: it never holds more than twice the keys
that had a deadline at once, and a few.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from penstock.core.clock import Instant

Key = TypeVar("Key", bound=Hashable)

SPARE_ENTRIES: Final = 64
"""Outdated entries that are tolerated beside as many as there are keys: a rebuild of a small heap
for every few changes would cost more than it saves."""


class Deadlines(Generic[Key]):
    """The current deadline of each key, if it has one."""

    __slots__ = ("_current", "_heap", "_serial")

    def __init__(self) -> None:
        """Nothing is due."""
        self._current: dict[Key, tuple[Instant, int]] = {}
        self._heap: list[tuple[Instant, int, Key]] = []
        self._serial = 0

    def set(self, key: Key, deadline: Instant | None) -> None:
        """A key's deadline is this now; None means that it has none."""
        current = self._current.get(key)
        if deadline is None:
            if current is not None:
                del self._current[key]
            return
        if current is not None and current[0] == deadline:
            return
        self._serial += 1
        self._current[key] = (deadline, self._serial)
        heappush(self._heap, (deadline, self._serial, key))
        if len(self._heap) > 2 * len(self._current) + SPARE_ENTRIES:
            self._heap = [(at, serial, each) for each, (at, serial) in self._current.items()]
            heapify(self._heap)

    def __contains__(self, key: Key) -> bool:
        """Whether a key has a deadline."""
        return key in self._current

    def earliest(self) -> Instant | None:
        """The earliest deadline of all."""
        heap = self._heap
        while heap:
            deadline, serial, key = heap[0]
            if self._current.get(key) == (deadline, serial):
                return deadline
            heappop(heap)
        return None

    def pop_due(self, now: Instant) -> list[Key]:
        """The keys whose deadline has come, in order; they have none until they set it again."""
        due: list[Key] = []
        while (first := self.earliest()) is not None and first <= now:
            key = heappop(self._heap)[2]
            del self._current[key]
            due.append(key)
        return due

"""Deadlines of many parts of one machine, and the earliest of them.

A machine with a thousand streams must not ask each of them after every message.

1. A part sets its deadline whenever it changes; the earliest of all is the top of a heap.
2. An entry of the heap whose deadline has changed since is outdated, and is skipped when it reaches
   the top.
3. A far deadline that moves with every message leaves an entry each time.  So the heap is rebuilt
   when it holds more than twice as many entries as there are keys, plus ``SPARE_ENTRIES``.
4. Keys that are due at the same instant are returned in the order in which they were set.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from penstock.core.clock import Instant

Key = TypeVar("Key", bound=Hashable)

SPARE_ENTRIES: Final = 64
"""Without them a small heap would be rebuilt after every few changes, which costs more than it
saves."""


class Deadlines(Generic[Key]):
    """The current deadline of each key, if it has one."""

    __slots__ = ("_current", "_heap", "_serial")

    def __init__(self) -> None:
        self._current: dict[Key, tuple[Instant, int]] = {}
        self._heap: list[tuple[Instant, int, Key]] = []
        self._serial = 0

    def set(self, key: Key, deadline: Instant | None) -> None:
        """Set the deadline of a key; None removes it."""
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
        """Remove and return the keys whose deadline has passed, in order."""
        due: list[Key] = []
        while (first := self.earliest()) is not None and first <= now:
            key = heappop(self._heap)[2]
            del self._current[key]
            due.append(key)
        return due

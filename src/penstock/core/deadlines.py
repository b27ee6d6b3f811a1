"""Deadlines of many parts of one machine, and the earliest of them.

A machine with a thousand streams must not ask each of them after every message.  Parts announce
their deadline when it changes; the earliest is found in a heap, whose outdated entries are passed
over when they surface.
"""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heappop, heappush
from typing import Generic, TypeVar

from penstock.core.clock import Instant

Key = TypeVar("Key", bound=Hashable)


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

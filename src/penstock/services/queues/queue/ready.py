"""Rows that wait to be dispatched or forwarded: by priority, and by position within one."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.intervals import Interval, IntervalSet
from penstock.services.queues.messages import HIGHEST_PRIORITY


class ReadyRows:
    """Waiting positions by priority.

    Callers add only rows that are not in the set, and remove only rows that are.
    """

    __slots__ = ("_levels", "_occupied", "count")

    def __init__(self) -> None:
        self._levels = [IntervalSet() for _ in range(HIGHEST_PRIORITY + 1)]
        self._occupied = 0
        """A bit for each priority that has rows, so that no run has to search for the highest."""
        self.count = 0

    def add(self, priority: int, low: int, high: int) -> None:
        self._levels[priority].add(low, high)
        self._occupied |= 1 << priority
        self.count += high - low

    def remove(self, priority: int, low: int, high: int) -> None:
        level = self._levels[priority]
        level.remove(low, high)
        if not len(level):
            self._occupied &= ~(1 << priority)
        self.count -= high - low

    def first(self) -> Interval | None:
        """The first run of the highest priority that has rows."""
        if not self._occupied:
            return None
        return next(iter(self._levels[self._occupied.bit_length() - 1]))

    def levels(self) -> Iterator[tuple[int, IntervalSet]]:
        """The priorities that have rows, the highest first."""
        for priority in range(HIGHEST_PRIORITY, -1, -1):
            if len(self._levels[priority]):
                yield priority, self._levels[priority]

    def within(self, priority: int, low: int, high: int) -> list[Interval]:
        """The rows of one priority that wait in ``[low, high)``."""
        return self._levels[priority].within(low, high)

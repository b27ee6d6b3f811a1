"""Virtual time.

Events are callbacks at an instant; those of the same instant run in the order in which they were
scheduled.  Nothing else decides the order, so a run depends on its seed alone.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from penstock.core.clock import Instant


class Scheduler:
    """A clock that jumps from event to event."""

    __slots__ = ("_heap", "_serial", "now")

    def __init__(self, start: Instant) -> None:
        """Begin at ``start``."""
        self.now = start
        self._heap: list[tuple[Instant, int, Callable[..., None], tuple[Any, ...]]] = []
        self._serial = 0

    def at(self, instant: Instant, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back at an instant; one in the past means now."""
        serial = self._serial = self._serial + 1
        if instant < self.now:
            instant = self.now
        heappush(self._heap, (instant, serial, callback, arguments))

    def run_until(self, end: Instant) -> None:
        """Run every event up to and including ``end``, and leave the clock there."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            instant, _, callback, arguments = heappop(heap)
            self.now = instant
            callback(*arguments)
        self.now = end

    @property
    def events(self) -> int:
        """How many have run."""
        return self._serial - len(self._heap)

    @property
    def idle(self) -> bool:
        """Whether nothing is left to happen."""
        return not self._heap

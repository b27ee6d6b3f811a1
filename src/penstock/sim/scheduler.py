"""Virtual time.

Events are callbacks at an instant; events of the same instant run in the order in which they were
scheduled.  Nothing else determines the order, so a run depends on its seed alone.

An event is one flat tuple, ``(instant, serial, callback, *arguments)``: serials are unique, so
tuples compare by their first two items and the heap needs no class and no key.  This module may be
compiled (docs/performance.md) and behaves the same either way.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from penstock.core.clock import Instant

# A compiled module finds its own constants without a dictionary lookup, imported names with one.
_push: Final = heappush
_pop: Final = heappop


class Scheduler:
    """A clock that jumps from event to event."""

    __slots__ = ("_heap", "_serial", "now")

    def __init__(self, start: Instant) -> None:
        self.now = start
        self._heap: list[tuple[Any, ...]] = []
        self._serial = 0

    def at(self, instant: Instant, callback: Callable[..., None], *arguments: Any) -> None:
        """Schedule a callback; an instant in the past means now."""
        serial = self._serial = self._serial + 1
        if instant < self.now:
            instant = self.now
        # Concatenation of two tuples: unpacking would compile to an intermediate list.
        _push(self._heap, (instant, serial, callback) + arguments)  # noqa: RUF005

    def pair_at(
        self, instant: Instant, callback: Callable[[Any, Any], None], first: Any, second: Any
    ) -> None:
        """Schedule a callback with two arguments, as links do for every message.

        A fixed number of arguments avoids packing them into an intermediate tuple.
        """
        serial = self._serial = self._serial + 1
        if instant < self.now:
            instant = self.now
        _push(self._heap, (instant, serial, callback, first, second))

    def run_until(self, end: Instant) -> None:
        """Run every event up to and including ``end``, and leave the clock there."""
        heap = self._heap
        while heap and heap[0][0] <= end:
            event = _pop(heap)
            self.now = event[0]
            length = len(event)
            # A call with explicit arguments is cheaper than one that unpacks a list.
            if length == 5:
                event[2](event[3], event[4])
            elif length == 4:
                event[2](event[3])
            elif length == 3:
                event[2]()
            else:
                event[2](*event[3:])
        self.now = end

    @property
    def events(self) -> int:
        """The number of events that have run."""
        return self._serial - len(self._heap)

    @property
    def idle(self) -> bool:
        """Whether no event is scheduled."""
        return not self._heap

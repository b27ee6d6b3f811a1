"""Virtual time.

Events are callbacks at an instant; those of the same instant run in the order in which they were
scheduled.  Nothing else decides the order, so a run depends on its seed alone.

An event is one flat tuple, ``(instant, serial, callback, *arguments)``: the serial is never equal,
so tuples compare by their first two items and a heap of them needs no class and no key.  This
module may be compiled (docs/performance.md), and reads the same either way.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from penstock.core.clock import Instant

# A compiled module finds a constant of its own without a dictionary, and an imported name with one.
_push: Final = heappush
_pop: Final = heappop


class Scheduler:
    """A clock that jumps from event to event."""

    __slots__ = ("_heap", "_serial", "now")

    def __init__(self, start: Instant) -> None:
        """Begin at ``start``."""
        self.now = start
        self._heap: list[tuple[Any, ...]] = []
        self._serial = 0

    def at(self, instant: Instant, callback: Callable[..., None], *arguments: Any) -> None:
        """Call back at an instant; one in the past means now."""
        serial = self._serial = self._serial + 1
        if instant < self.now:
            instant = self.now
        # Two tuples are put together at once; unpacking one compiles to a list in between.
        _push(self._heap, (instant, serial, callback) + arguments)  # noqa: RUF005

    def pair_at(
        self, instant: Instant, callback: Callable[[Any, Any], None], first: Any, second: Any
    ) -> None:
        """The same for two arguments, which is what links need for every message.

        A fixed number of arguments is not packed into a tuple of its own on the way.
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
            # A call with so many arguments is cheaper than one with a list of them.
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
        """How many have run."""
        return self._serial - len(self._heap)

    @property
    def idle(self) -> bool:
        """Whether nothing is left to happen."""
        return not self._heap

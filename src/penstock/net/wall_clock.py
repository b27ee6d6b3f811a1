"""The clock of a broker process.

1. It starts at the time of day, or later if the process must not repeat an instant that an earlier
   run has used.
2. It then advances with the machine's monotonic clock, so that a step of the time of day neither
   stops a stream nor fires all timers at once.
3. It never goes backwards.
4. A clock that is created on an event loop with a registered world (``net.loop_world``) reads that
   world's clock instead of the machine's.
"""

from __future__ import annotations

import time

from penstock.core.clock import Duration, Instant
from penstock.net.loop_world import world_here


class WallClock:
    """Nanoseconds since the Unix epoch, without steps."""

    __slots__ = ("_offset_ns",)

    def __new__(cls, not_before: Instant = 0) -> WallClock:
        """Use another class in another world, so that the usual ``now`` is one call and one sum."""
        return object.__new__(WallClock if world_here() is None else _WorldClock)

    def __init__(self, not_before: Instant = 0) -> None:
        """Start at the time of day, but not before this instant."""
        self._offset_ns = max(time.time_ns(), not_before) - time.monotonic_ns()

    @property
    def ahead_ns(self) -> Duration:
        """How far the clock is ahead of the time of day; negative if it is behind."""
        return self.now() - time.time_ns()

    def now(self) -> Instant:
        """The present instant."""
        return self._offset_ns + time.monotonic_ns()


class _WorldClock(WallClock):
    """The clock of a registered world, which may differ from this machine's clock."""

    __slots__ = ("_now_ns",)

    def __init__(self, not_before: Instant = 0) -> None:
        world = world_here()
        assert world is not None, "__new__ has looked"
        self._now_ns = world.now_ns
        self._offset_ns = max(0, not_before - self._now_ns())

    @property
    def ahead_ns(self) -> Duration:
        return self._offset_ns

    def now(self) -> Instant:
        return self._offset_ns + self._now_ns()

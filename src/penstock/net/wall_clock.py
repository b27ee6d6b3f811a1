"""The clock of a broker process.

1. It starts at the time of day, or later if the process must not repeat an instant that an earlier
   run has used.
2. From then on it advances with the machine's monotonic clock, so that a step of the time of day
   neither halts a stream nor fires every timer at once.
3. It never goes backwards.
"""

from __future__ import annotations

import time

from penstock.core.clock import Duration, Instant


class WallClock:
    """Nanoseconds since the Unix epoch, without steps."""

    __slots__ = ("_offset_ns",)

    def __init__(self, not_before: Instant = 0) -> None:
        """Start at the time of day, but not before this instant."""
        self._offset_ns = max(time.time_ns(), not_before) - time.monotonic_ns()

    @property
    def ahead_ns(self) -> Duration:
        """By how much it is ahead of the time of day; negative if it is behind."""
        return self.now() - time.time_ns()

    def now(self) -> Instant:
        """The present instant."""
        return self._offset_ns + time.monotonic_ns()

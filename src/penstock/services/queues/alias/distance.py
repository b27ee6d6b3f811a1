"""The distance of a destination: the least recent time from forwarding a row to its confirmation.

The least, and not the mean: waiting for a busy link or disk lengthens most of these times and says
nothing about the distance.  The measurements of two windows are kept, so that the answer is never
older than two windows and does not depend on a single slow moment.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import SECOND, Duration, Instant

WINDOW_NS: Final[Duration] = 10 * SECOND
"""Long enough for a busy link to be idle once, short enough to notice another route."""


class Distance:
    """The least time measured in this window and the one before."""

    __slots__ = ("_before", "_began_at", "_current")

    def __init__(self) -> None:
        self._before: Duration | None = None
        self._current: Duration | None = None
        self._began_at: Instant = 0

    def measured(self, taken_ns: Duration, now: Instant) -> None:
        """A row was confirmed this long after it was forwarded."""
        if self._current is None or now - self._began_at >= WINDOW_NS:
            self._before, self._current, self._began_at = self._current, taken_ns, now
        else:
            self._current = min(self._current, taken_ns)

    @property
    def least_ns(self) -> Duration | None:
        """None if nothing was measured."""
        if self._current is None or self._before is None:
            return self._current
        return min(self._current, self._before)

    def is_within(self, limit_ns: Duration) -> bool:
        """Whether the destination is known to be within this time."""
        least = self.least_ns
        return least is not None and least <= limit_ns

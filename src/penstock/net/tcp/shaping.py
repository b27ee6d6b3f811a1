"""How fast a link may send: a smooth limit in bytes per second.

1. Time is reserved, not tokens: a message of n bytes occupies the link for n / rate seconds, and
   the next one may go when the link is free again.
2. A link that was idle may run ahead by ``BURST_NS`` and not more.  That much is needed because a
   timer of the event loop wakes up a millisecond or two late, and what it oversleeps would
   otherwise be lost; more would be a burst that a real link of this rate could not carry.
3. A message is never cut: the largest burst is one message, or ``BURST_NS`` if that is more.
4. Control is held back only by control, data by both.  So a control message does not wait for the
   large data message before it, as if the link could interrupt one for the other, and the sum
   keeps to the rate, because data pays for what control took.
5. The rate may change at any time; what is reserved is stretched or shortened with it.

A policy: it takes instants and sizes and returns instants.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.machine import Priority

BURST_NS: Final[Duration] = 10 * MILLISECOND

UNLIMITED: Final = 0
"""The rate that means that there is no limit."""


class LinkPacer:
    """Says when the next message may go."""

    __slots__ = ("_control_free_at", "_free_at", "rate_bytes_per_s")

    def __init__(self, rate_bytes_per_s: int = UNLIMITED) -> None:
        """The link is free."""
        self.rate_bytes_per_s = rate_bytes_per_s
        """The limit in force; 0 means none (``set_rate`` changes it)."""
        self._free_at: Instant = 0
        self._control_free_at: Instant = 0

    def set_rate(self, rate_bytes_per_s: int, now: Instant) -> None:
        """Change the limit."""
        before, self.rate_bytes_per_s = self.rate_bytes_per_s, rate_bytes_per_s
        if before == UNLIMITED or rate_bytes_per_s == UNLIMITED:
            self._free_at = self._control_free_at = now
            return
        self._free_at = now + _stretched(self._free_at - now, before, rate_bytes_per_s)
        control = self._control_free_at - now
        self._control_free_at = now + _stretched(control, before, rate_bytes_per_s)

    def ready_at(self, priority: Priority) -> Instant:
        """When a message of this priority may go; an instant in the past means at once."""
        if self.rate_bytes_per_s == UNLIMITED:
            return 0
        free_at = self._control_free_at if priority is Priority.CONTROL else self._free_at
        return free_at - BURST_NS

    def sent(self, size_bytes: int, priority: Priority, now: Instant) -> None:
        """A message went out."""
        if self.rate_bytes_per_s == UNLIMITED:
            return
        occupied = round(size_bytes * SECOND / self.rate_bytes_per_s)
        self._free_at = max(self._free_at, now) + occupied
        if priority is Priority.CONTROL:
            self._control_free_at = max(self._control_free_at, now) + occupied


def _stretched(reserved: Duration, before: int, after: int) -> Duration:
    return max(0, reserved) * before // after

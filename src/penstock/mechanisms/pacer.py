"""A pacer: when a link that is limited in bytes per second may send its next message.

1. The pacer reserves time, not tokens: a message of n bytes occupies the link for n / rate
   seconds, and the next one may leave when the link is free again.
2. A link that was idle may run ahead by ``BURST_NS`` and no more.  That much is needed because a
   timer of the event loop fires a millisecond or two late, and that time would otherwise be lost;
   more would be a burst that a real link of this rate could not carry.
3. A message is never split: the largest burst is one message, or ``BURST_NS`` if that is more.
4. Control waits only for control, data waits for both.  So a control message does not wait for the
   large data message before it, as if the link could interrupt one for the other, and the sum
   keeps to the rate, because data pays for what control took.
5. The rate can change at any time; time that is already reserved is scaled with it.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.core.machine import Priority

BURST_NS: Final[Duration] = 10 * MILLISECOND

UNLIMITED: Final = 0
"""The rate that means no limit."""


class Pacer:
    """The time that one link has reserved."""

    __slots__ = ("_control_free_at", "_free_at", "rate_bytes_per_s")

    def __init__(self, rate_bytes_per_s: int = UNLIMITED) -> None:
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
        self._free_at = now + _scaled(self._free_at - now, before, rate_bytes_per_s)
        control = self._control_free_at - now
        self._control_free_at = now + _scaled(control, before, rate_bytes_per_s)

    def ready_at(self, priority: Priority) -> Instant:
        """When a message of this priority may leave; an instant in the past means at once."""
        if self.rate_bytes_per_s == UNLIMITED:
            return 0
        free_at = self._control_free_at if priority is Priority.CONTROL else self._free_at
        return free_at - BURST_NS

    def sent(self, size_bytes: int, priority: Priority, now: Instant) -> None:
        """Reserve the time of a message that was sent."""
        if self.rate_bytes_per_s == UNLIMITED:
            return
        occupied = round(size_bytes * SECOND / self.rate_bytes_per_s)
        self._free_at = max(self._free_at, now) + occupied
        if priority is Priority.CONTROL:
            self._control_free_at = max(self._control_free_at, now) + occupied


def _scaled(reserved: Duration, before: int, after: int) -> Duration:
    return max(0, reserved) * before // after

"""How long a queue had something to consume.

Messages consumed for each second in which there were any is what the consumers can do; messages
consumed for each second of the clock is only what they were given.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant


class BusyClock:
    """Adds up the time in which a queue was not empty."""

    __slots__ = ("_busy", "_since", "_total_ns")

    def __init__(self, now: Instant) -> None:
        """Idle at first."""
        self._busy = False
        self._since = now
        self._total_ns = 0

    def set(self, busy: bool, now: Instant) -> None:
        """From now on the queue is busy, or not."""
        if busy == self._busy:
            return
        if self._busy:
            self._total_ns += now - self._since
        self._busy = busy
        self._since = now

    def total_ns(self, now: Instant) -> Duration:
        """The time so far."""
        return self._total_ns + (now - self._since if self._busy else 0)

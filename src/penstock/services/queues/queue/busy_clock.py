"""Measures for how long a queue had messages to consume.

Messages consumed per busy second are the capacity of the consumers; messages consumed per second of
wall time are only what they were given.
"""

from __future__ import annotations

from penstock.core.clock import Duration, Instant


class BusyClock:
    """Accumulates the time in which a queue was not empty."""

    __slots__ = ("_busy", "_since", "_total_ns")

    def __init__(self, now: Instant) -> None:
        self._busy = False
        self._since = now
        self._total_ns = 0

    def set(self, busy: bool, now: Instant) -> None:
        if busy == self._busy:
            return
        if self._busy:
            self._total_ns += now - self._since
        self._busy = busy
        self._since = now

    def total_ns(self, now: Instant) -> Duration:
        return self._total_ns + (now - self._since if self._busy else 0)

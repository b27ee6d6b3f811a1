"""The admission gate of a pubend: how fast publications may enter.

Without a limit everything passes at once.  With a limit, publications pass evenly spaced: a
publication of n rows closes the gate for n / rate seconds.  Counting over a whole second instead
would admit bursts and halve the use of a thin link (PDCC, Section 4).
"""

from __future__ import annotations

from penstock.core.clock import SECOND, Instant


class Admission:
    """A smooth limiter of rows per second."""

    __slots__ = ("_next_pass", "rate_msgs_per_s")

    def __init__(self) -> None:
        self.rate_msgs_per_s: float | None = None
        self._next_pass: Instant = 0

    def may_pass(self, now: Instant) -> bool:
        """Whether the gate is open."""
        return self.rate_msgs_per_s is None or now >= self._next_pass

    def passed(self, rows: int, now: Instant) -> None:
        """Rows passed the gate: close it for the time that they take at the limit."""
        if self.rate_msgs_per_s is not None:
            start = max(self._next_pass, now)
            self._next_pass = start + round(rows * SECOND / self.rate_msgs_per_s)

    def set_rate(self, rate_msgs_per_s: float | None, now: Instant) -> None:
        """Change the limit; the time for which the gate stays closed is scaled with it."""
        before, self.rate_msgs_per_s = self.rate_msgs_per_s, rate_msgs_per_s
        if before is not None and rate_msgs_per_s is not None and self._next_pass > now:
            self._next_pass = now + round((self._next_pass - now) * before / rate_msgs_per_s)

    def next_pass(self) -> Instant | None:
        """When the gate opens, or None if it is always open."""
        return None if self.rate_msgs_per_s is None else self._next_pass

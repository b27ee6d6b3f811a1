"""The least of recent values, in constant memory."""

from __future__ import annotations

from penstock.core.clock import Duration, Instant


class Least:
    """The least of recent values, over the present block of time and the one before."""

    __slots__ = ("_before", "_begun", "_block_ns", "_count", "_count_before", "_current")

    def __init__(self, block_ns: Duration) -> None:
        """Nothing was seen."""
        self._block_ns = block_ns
        self._before: int | None = None
        self._current: int | None = None
        self._begun: Instant = 0
        self._count = self._count_before = 0

    def reset(self) -> None:
        """Nothing before counts."""
        self._before = self._current = None
        self._count = self._count_before = 0

    @property
    def count(self) -> int:
        """How many values the least is of."""
        return self._count + self._count_before

    def of(self, value: int, now: Instant) -> int:
        """The least, this value included."""
        if self._current is None or now - self._begun > self._block_ns:
            self._before, self._current, self._begun = self._current, value, now
            self._count_before, self._count = self._count, 0
        self._count += 1
        self._current = min(self._current, value)
        return self._current if self._before is None else min(self._before, self._current)

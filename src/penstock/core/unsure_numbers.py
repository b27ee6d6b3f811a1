"""Sequence numbers of rows of which nobody knows whether they are stored.

When a sync fails, the rows that were being stored may or may not be there after a restart.  As long
as the broker runs they must be neither refused nor stored again, whoever repeats them: a repeat is
told the same as the original.  Their number is bounded by what may wait for the disk, because a log
whose sync failed takes nothing more.
"""

from __future__ import annotations

from penstock.core.intervals import IntervalSet


class UnsureNumbers:
    """The numbers of each producer, and why nobody knows."""

    __slots__ = ("_numbers", "reason")

    def __init__(self) -> None:
        self.reason = ""
        self._numbers: dict[str, IntervalSet] = {}

    def add(self, producer: str, first: int, count: int, reason: str) -> None:
        """The sync of these rows failed."""
        self.reason = reason
        self._numbers.setdefault(producer, IntervalSet()).add(first, first + count)

    def touches(self, producer: str, first: int, count: int) -> bool:
        """Whether some of these rows are among them."""
        numbers = self._numbers.get(producer)
        return numbers is not None and bool(numbers.within(first, first + count))

"""One log of the store in memory: its records in order, and how far they are durable."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from random import Random
from typing import Final, Generic, TypeVar

from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.store.admission import LogFront
from penstock.store.interface import LogBounds, LogName, LogSlice, Record

Data = TypeVar("Data")

NEVER_REFUSED: Final = -1


class MemoryLog(Generic[Data]):
    """The records of a log; ``start`` is the first that was not trimmed.

    Records below ``visible`` are durable as far as readers can tell; those below ``stable`` survive
    a crash.  They differ only while the disk lies; ``stable`` is negative if what it lied about was
    trimmed and forgotten since.
    """

    __slots__ = (
        "closed",
        "first_low",
        "front",
        "losses",
        "lows",
        "records",
        "refused_epoch",
        "sizes",
        "stable",
        "start",
        "stored_bytes",
        "visible",
    )

    def __init__(self, name: LogName) -> None:
        self.front = LogFront(name)
        self.lows: list[Tick] = []
        self.records: list[Record[Data]] = []
        self.sizes: list[int] = []
        self.start = 0
        self.visible = 0
        self.stable = 0
        self.stored_bytes = 0
        self.first_low: Tick = 0
        self.refused_epoch = NEVER_REFUSED
        self.closed = False
        self.losses = IntervalSet()

    def add(self, record: Record[Data], size_bytes: int) -> None:
        """Put a record at the end, not durable yet."""
        self.lows.append(record.low)
        self.records.append(record)
        self.sizes.append(size_bytes)

    def durable_high(self) -> Tick:
        """The end of what readers can see, or of what was trimmed."""
        high = self.records[self.visible - 1].high if self.visible else 0
        return max(high, self.first_low)

    def bounds(self) -> LogBounds:
        """What readers see of the log."""
        return LogBounds(self.first_low, self.durable_high(), self.stored_bytes)

    def lost(self) -> tuple[Interval, ...]:
        """What was damaged and not trimmed since."""
        return tuple(self.losses)

    def end_high(self) -> Tick:
        """The end of everything that was stored, durable or not."""
        return max(self.records[-1].high if self.records else 0, self.first_low)

    def read(self, low: Tick, high: Tick, max_bytes: int, max_records: int = 0) -> LogSlice[Data]:
        """The durable records that touch ``[low, high)``."""
        complete_from = max(low, self.first_low)
        limit = min(high, self.durable_high())
        position = max(bisect_right(self.lows, complete_from, hi=self.visible) - 1, self.start)
        if position < self.visible and self.records[position].high <= complete_from:
            position += 1
        found: list[Record[Data]] = []
        taken_bytes = 0
        if complete_from >= limit:
            position = self.visible  # an empty interval touches nothing
        while position < self.visible and self.lows[position] < limit:
            taken_bytes += self.sizes[position]
            if found and (taken_bytes > max_bytes or len(found) == max_records):
                return self._slice(found, complete_from, self.lows[position])
            found.append(self.records[position])
            position += 1
        return self._slice(found, complete_from, max(low, limit))

    def _slice(
        self, found: list[Record[Data]], complete_from: Tick, complete_to: Tick
    ) -> LogSlice[Data]:
        if not self.losses:
            return LogSlice(found, complete_from, complete_to)
        good = [record for record in found if not self.losses.within(record.low, record.high)]
        lost = tuple(self.losses.within(complete_from, complete_to))
        return LogSlice(good, complete_from, complete_to, lost)

    def damage(self, random: Random) -> Interval | None:
        """Make one durable record unreadable; the interval that is lost, if there was a record."""
        last = min(self.visible, max(self.stable, self.start))
        if last <= self.start:
            return None
        record = self.records[random.randrange(self.start, last)]
        self.losses.add(record.low, record.high)
        return record.low, record.high

    def trim(self, below: Tick) -> None:
        """Forget what lies below a tick, as far as it is durable."""
        self.first_low = max(self.first_low, min(below, self.durable_high()))
        if self.losses:
            self.losses.remove(0, self.first_low)
        while self.start < self.visible and self.records[self.start].high <= self.first_low:
            self.stored_bytes -= self.sizes[self.start]
            self.start += 1
        # Moving the rest down only when it is the smaller half keeps the cost constant a record.
        if 2 * self.start > len(self.records):
            self._forget(self.start)

    def keep(self, count: int) -> int:
        """Lose every record behind the first ``count``, and what was accepted; how many."""
        count = max(count, self.start)
        lost = len(self.records) - count
        for kept in (self.lows, self.records, self.sizes):
            del kept[count:]
        self.visible = self.stable = count
        self.stored_bytes = sum(islice(self.sizes, self.start, None))
        self.front = LogFront(self.front.name, self.end_high())
        self.refused_epoch = NEVER_REFUSED
        self.closed = False
        return lost

    def _forget(self, count: int) -> None:
        for kept in (self.lows, self.records, self.sizes):
            del kept[:count]
        self.start -= count
        self.visible -= count
        self.stable -= count

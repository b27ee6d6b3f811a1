"""The part of a store that reads: its logs, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from penstock.core.intervals import Interval, Tick
from penstock.store.interface import LogBounds, LogName, LogSlice, LogStore

Written = TypeVar("Written")
Stored = TypeVar("Stored")
Read = TypeVar("Read", covariant=True)

NO_LOG = LogBounds(0, 0, 0)


class ReadableLog(Protocol[Read]):
    """One log of a store."""

    def read(self, low: Tick, high: Tick, max_bytes: int, max_records: int = 0) -> LogSlice[Read]:
        """The durable records that touch ``[low, high)``."""
        ...

    def bounds(self) -> LogBounds:
        """Where the log starts and ends."""
        ...

    def lost(self) -> tuple[Interval, ...]:
        """What is known to be damaged or missing."""
        ...


class LogsByName(LogStore[Written, Stored], Generic[Written, Stored]):
    """Answers every question about logs; a log that does not exist is empty."""

    _logs: Mapping[LogName, ReadableLog[Stored]]

    def log_names(self) -> list[LogName]:
        """The logs that exist, sorted."""
        return sorted(self._logs)

    def read(
        self, log: LogName, low: Tick, high: Tick, max_bytes: int, max_records: int = 0
    ) -> LogSlice[Stored]:
        """The durable records that touch ``[low, high)``."""
        found = self._logs.get(log)
        if found is None:
            return LogSlice([], low, low)
        return found.read(low, high, max_bytes, max_records)

    def bounds(self, log: LogName) -> LogBounds:
        """Where a log starts and ends; all zero for a log that does not exist."""
        found = self._logs.get(log)
        return NO_LOG if found is None else found.bounds()

    def lost(self) -> dict[LogName, tuple[Interval, ...]]:
        """What is known to be damaged or missing, of the logs that have any such interval."""
        return {name: lost for name, log in sorted(self._logs.items()) if (lost := log.lost())}

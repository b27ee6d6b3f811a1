"""Collecting the records of a log that touch an interval, up to limits on bytes and records.

What is damaged is stepped over and told (penstock.store.segments.scan says how it is found).

Records are views of what was read.  Where a limit leaves but a small part of that they are copied
out of it, or whoever keeps them would keep all of it alive.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from penstock.core.intervals import Tick
from penstock.store.interface import Record
from penstock.store.segments.framing import RecordHeader
from penstock.store.segments.scan import Damage, records_behind
from penstock.store.segments.sparse_index import DEFAULT_INDEX_INTERVAL_BYTES
from penstock.store.segments.window import LARGEST_WINDOW_BYTES, SegmentWindow

KEPT_SHARE: Final = 4
"""So many times what they show may be kept alive by views; beyond that they are copied."""


class SliceReader:
    """Walks over stretches of segments, one after the other, and keeps what touches."""

    __slots__ = (
        "_at",
        "_high",
        "_low",
        "_max_bytes",
        "_max_records",
        "_read_bytes",
        "_records",
        "_taken_bytes",
        "damage",
    )

    def __init__(self, low: Tick, high: Tick, max_bytes: int, max_records: int = 0) -> None:
        """Look for ``[low, high)``; ``max_records`` of 0 is any number."""
        self._low = low
        self._high = high
        self._max_bytes = max_bytes
        self._max_records = max_records
        self._read_bytes = 0
        self._taken_bytes = 0
        self._at = low
        self.damage: list[Damage] = []
        self._records: list[Record[memoryview]] = []

    def walk(
        self,
        descriptor: int,
        path: Path,
        identity: int,
        *,
        start: int,
        stop: int,
        end_high: Tick | None,
    ) -> Tick | None:
        """Take the records between two offsets.

        ``end_high`` is where the records must end, if ``stop`` is the end of a segment.  The answer
        is the tick up to which the slice is complete if it had to stop there, because of a limit;
        otherwise None.
        """
        # One read for the whole slice: what a narrower window cuts off a record is read twice.
        window_bytes = min(LARGEST_WINDOW_BYTES, DEFAULT_INDEX_INTERVAL_BYTES + self._max_bytes)
        window = SegmentWindow(descriptor, identity, stop, window_bytes)
        try:
            return self._walk(window, path, start, stop, end_high)
        finally:
            self._read_bytes += window.read_bytes

    def _walk(
        self, window: SegmentWindow, path: Path, offset: int, stop: int, end_high: Tick | None
    ) -> Tick | None:
        while offset < stop:
            header = window.header_at(offset)
            if header is None:
                behind = next(records_behind(window, offset), None)
                if behind is None:
                    break
                self._lose(path, offset, self._at, behind.low)
                offset = behind.offset
                continue
            if header.low >= self._high:
                return None
            if header.high > self._low and not header.is_seal:
                if self._records and self._is_full(header.length):
                    return header.low
                self._take(window, path, header)
            self._at = max(self._at, header.high)
            offset = header.end
        if end_high is not None:
            self._lose(path, offset, self._at, end_high)
        return None

    def _lose(self, path: Path, offset: int, low: Tick, high: Tick) -> None:
        """Nothing between two ticks can be read."""
        self._at = max(self._at, high)
        low, high = max(low, self._low), min(high, self._high)
        if low < high:
            self.damage.append(Damage(path, offset, low, high))

    def _is_full(self, further_bytes: int) -> bool:
        return (
            self._taken_bytes + further_bytes > self._max_bytes
            or len(self._records) == self._max_records
        )

    def taken(self) -> list[Record[memoryview]]:
        """What was found."""
        if KEPT_SHARE * self._taken_bytes >= self._read_bytes:
            return self._records
        return [
            Record(record.low, record.high, memoryview(bytes(record.data)))
            for record in self._records
        ]

    def _take(self, window: SegmentWindow, path: Path, header: RecordHeader) -> None:
        data = window.data_of(header)
        if data is None:
            self._lose(path, header.offset, header.low, header.high)
            return
        self._records.append(Record(header.low, header.high, data))
        self._taken_bytes += header.length

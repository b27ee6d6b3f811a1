"""Collecting the records of a log that touch an interval, up to a limit on bytes."""

from __future__ import annotations

from pathlib import Path

from penstock.core.intervals import Tick
from penstock.store.framing import RecordHeader
from penstock.store.interface import CorruptLog, Record
from penstock.store.segment_window import LARGEST_WINDOW_BYTES, SegmentWindow
from penstock.store.sparse_index import DEFAULT_INDEX_INTERVAL_BYTES


class SliceReader:
    """Walks over stretches of segments, one after the other, and keeps what touches."""

    __slots__ = ("_high", "_low", "_max_bytes", "_taken_bytes", "records")

    def __init__(self, low: Tick, high: Tick, max_bytes: int) -> None:
        """Look for ``[low, high)``."""
        self._low = low
        self._high = high
        self._max_bytes = max_bytes
        self._taken_bytes = 0
        self.records: list[Record[memoryview]] = []

    def walk(
        self, descriptor: int, path: Path, identity: int, *, start: int, stop: int
    ) -> Tick | None:
        """Take the records between two offsets.

        The answer is the tick up to which the slice is complete if it had to stop there, because
        of the limit on bytes; otherwise None.
        """
        # One read for the whole slice: what a narrower window cuts off a record is read twice.
        window_bytes = min(LARGEST_WINDOW_BYTES, DEFAULT_INDEX_INTERVAL_BYTES + self._max_bytes)
        window = SegmentWindow(descriptor, identity, stop, window_bytes)
        offset = start
        while offset < stop:
            header = window.header_at(offset)
            if header is None:
                raise _damaged(path, offset, "header")
            if header.low >= self._high:
                return None
            if header.high > self._low and not header.is_seal:
                if self.records and self._taken_bytes + header.length > self._max_bytes:
                    return header.low
                self._take(window, path, header)
            offset = header.end
        return None

    def _take(self, window: SegmentWindow, path: Path, header: RecordHeader) -> None:
        data = window.data_of(header)
        if data is None:
            raise _damaged(path, header.offset, "data")
        self.records.append(Record(header.low, header.high, data))
        self._taken_bytes += header.length


def _damaged(path: Path, offset: int, part: str) -> CorruptLog:
    return CorruptLog(
        f"{path}: the {part} of the record at offset {offset} is damaged, although it was durable; "
        "restore the file from a copy, or trim the log above it"
    )

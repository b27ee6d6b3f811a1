"""Walking over the records of a segment, from the first to the last that is whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.core.intervals import Tick
from penstock.store.framing import (
    RECORD_ALIGNMENT_BYTES,
    RECORD_MAGIC,
    SEGMENT_HEADER_BYTES,
    RecordHeader,
    SegmentHeader,
)
from penstock.store.interface import CorruptLog
from penstock.store.segment_window import SegmentWindow
from penstock.store.sparse_index import SparseIndex


class Scan(msgspec.Struct, frozen=True):
    """What a walk over a segment met before it stopped at ``end``."""

    end: int
    high: Tick
    group_start: int
    sealed: bool
    index: SparseIndex


def scan_records(
    window: SegmentWindow, path: Path, header: SegmentHeader, *, verify_data: bool
) -> Scan:
    """Walk to the first place where no good record stands; without data, trust the headers."""
    index = SparseIndex()
    offset = group_start = SEGMENT_HEADER_BYTES
    high = header.base_tick
    sealed = False
    while (record := window.header_at(offset)) is not None:
        if verify_data and window.data_of(record) is None:
            break
        if record.low < high or record.high < record.low:
            raise CorruptLog(
                f"{path}: the record at offset {offset} covers [{record.low}, {record.high}), "
                f"which is not above {high}, the end of the record before it; "
                "restore the file from a copy"
            )
        sealed = record.is_seal
        if not sealed:
            index.note(record.low, offset)
        high = record.high
        group_start = record.group_start
        offset = record.end
    return Scan(end=offset, high=high, group_start=group_start, sealed=sealed, index=index)


def records_behind(window: SegmentWindow, offset: int) -> Iterator[RecordHeader]:
    """The good record headers behind an offset, found without walking from record to record."""
    overlap = len(RECORD_MAGIC) - 1  # a magic may begin in one block and end in the next
    at = offset + RECORD_ALIGNMENT_BYTES
    while block := window.block_at(at):
        position = block.find(RECORD_MAGIC)
        while position >= 0:
            candidate = at + position
            if candidate % RECORD_ALIGNMENT_BYTES == 0:
                header = window.header_at(candidate)
                if header is not None:
                    yield header
            position = block.find(RECORD_MAGIC, position + 1)
        at += max(len(block) - overlap, 1)

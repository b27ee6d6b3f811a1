"""Walking over the records of a segment, from the first to the last, around those that are damaged.

1. A place at which no good record stands, and behind which there is one that was written after it
   had been synced, is damage: what stood there was durable.  The walk goes on behind it.
2. If only the header is good, the lost interval is exactly the record's.  If the header is damaged
   as well, it reaches from the end of the record before to the start of the next good one.
3. A place behind which nothing of that kind stands is the end: of the log, or of what a crash left
   of it (penstock.store.repair.recovery).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from penstock.core.intervals import Interval, Tick
from penstock.store.interface import CorruptLog
from penstock.store.segments.framing import (
    RECORD_ALIGNMENT_BYTES,
    RECORD_MAGIC,
    SEGMENT_HEADER_BYTES,
    RecordHeader,
    SegmentHeader,
)
from penstock.store.segments.sparse_index import SparseIndex
from penstock.store.segments.window import SegmentWindow


class Damage(msgspec.Struct, frozen=True):
    """A place of a file where something durable cannot be read, and the ticks that stood there."""

    path: Path
    offset: int
    low: Tick
    high: Tick

    @property
    def interval(self) -> Interval:
        """The ticks that are lost."""
        return self.low, self.high


class Scan(msgspec.Struct, frozen=True):
    """What a walk over a segment met before it stopped at ``end``."""

    end: int
    high: Tick
    group_start: int
    sealed: bool
    index: SparseIndex
    damage: list[Damage]


def scan_records(
    window: SegmentWindow,
    path: Path,
    header: SegmentHeader,
    *,
    verify_data: bool,
    all_durable: bool = False,
) -> Scan:
    """Walk to the end of a segment; without data, trust the headers.

    ``all_durable`` says that the segment has a successor, so that no part of it can be what a crash
    left of a commit.
    """
    index = SparseIndex()
    damage: list[Damage] = []
    offset = group_start = SEGMENT_HEADER_BYTES
    high = header.base_tick
    sealed = False
    while True:
        record = window.header_at(offset)
        is_good = record is not None and not (verify_data and window.data_of(record) is None)
        if record is None or not is_good:
            behind = _good_behind(window, offset, all_durable=all_durable)
            if behind is None:
                break
            if record is None:
                damage.append(Damage(path, offset, high, max(high, behind.low)))
                high, offset = max(high, behind.low), behind.offset
            else:
                damage.append(Damage(path, offset, record.low, record.high))
                high, offset = record.high, record.end
            continue
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
    return Scan(
        end=offset,
        high=high,
        group_start=group_start,
        sealed=sealed,
        index=index,
        damage=[each for each in damage if each.low < each.high],
    )


def _good_behind(window: SegmentWindow, offset: int, *, all_durable: bool) -> RecordHeader | None:
    """The next good record behind a place whose content was durable; None if it is the end."""
    first: RecordHeader | None = None
    for record in records_behind(window, offset):
        first = first or record
        if all_durable or record.group_start > offset:
            return first
    return None


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

"""Records of an interval, up to limits."""

import os
from pathlib import Path
from typing import Any

from penstock.store.segments.framing import (
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    decode_segment_header,
    framed_bytes,
)
from penstock.store.segments.scan import Damage
from penstock.store.segments.slice_reader import SliceReader

DATA = b"x" * 24
SIZE = framed_bytes(len(DATA))


def walked(path: Path, reader: SliceReader, end_high: int | None = None) -> int | None:
    """Walk over the first three records of a segment."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        header = decode_segment_header(os.pread(descriptor, SEGMENT_HEADER_BYTES, 0))
        assert isinstance(header, SegmentHeader)
        return reader.walk(
            descriptor,
            path,
            header.identity,
            start=SEGMENT_HEADER_BYTES,
            stop=SEGMENT_HEADER_BYTES + 3 * SIZE,
            end_high=end_high,
        )
    finally:
        os.close(descriptor)


def stored(tmp_path: Path, log_directory: Any, record: Any) -> Path:
    at = log_directory(tmp_path)
    log = at.open()
    assert log.commit([record(tick, DATA, high=tick + 5) for tick in (0, 10, 20)]) == []
    log.close()
    return at.segments()[0]


def test_the_records_that_touch_are_taken(tmp_path: Path, log_directory: Any, record: Any) -> None:
    path = stored(tmp_path, log_directory, record)
    reader = SliceReader(4, 11, 1000)
    assert walked(path, reader) is None
    assert [(each.low, each.high) for each in reader.taken()] == [(0, 5), (10, 15)]


def test_a_limit_says_where_the_slice_ends(tmp_path: Path, log_directory: Any, record: Any) -> None:
    path = stored(tmp_path, log_directory, record)
    by_bytes, by_number = SliceReader(0, 30, 2 * len(DATA)), SliceReader(0, 30, 1000, 1)
    assert walked(path, by_bytes) == 20
    assert walked(path, by_number) == 10
    assert [len(each.taken()) for each in (by_bytes, by_number)] == [2, 1]


def test_one_record_is_taken_whatever_its_size(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    reader = SliceReader(0, 30, 1)
    assert walked(stored(tmp_path, log_directory, record), reader) == 10
    assert len(reader.taken()) == 1


def test_damage_is_stepped_over(tmp_path: Path, log_directory: Any, record: Any) -> None:
    path = stored(tmp_path, log_directory, record)
    content = bytearray(path.read_bytes())
    content[SEGMENT_HEADER_BYTES + SIZE] ^= 0xFF
    path.write_bytes(content)
    reader = SliceReader(0, 30, 1000)
    assert walked(path, reader, end_high=25) is None
    assert [each.low for each in reader.taken()] == [0, 20]
    assert reader.damage == [Damage(path, SEGMENT_HEADER_BYTES + SIZE, 5, 20)]

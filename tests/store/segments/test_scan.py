"""Walking over the records of a segment, around damage."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.store.interface import CorruptLog
from penstock.store.segments.framing import (
    RECORD_HEADER_BYTES,
    SEGMENT_HEADER_BYTES,
    SegmentHeader,
    decode_segment_header,
    framed_bytes,
)
from penstock.store.segments.scan import Damage, Scan, records_behind, scan_records
from penstock.store.segments.window import SegmentWindow

DATA = b"x" * 24
SIZE = framed_bytes(len(DATA))


@pytest.fixture
def segment(tmp_path: Path, log_directory: Any, record: Any) -> Iterator[Path]:
    """A segment with four commits of one record each, at the ticks 0, 10, 20 and 30."""
    at = log_directory(tmp_path)
    log = at.open()
    for tick in (0, 10, 20, 30):
        assert log.commit([record(tick, DATA, high=tick + 5)]) == []
    yield at.segments()[0]
    log.close()


def place(number: int) -> int:
    return SEGMENT_HEADER_BYTES + SIZE * number


def damage_byte(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 0xFF
    path.write_bytes(content)


def scanned(path: Path, *, verify_data: bool = True, all_durable: bool = False) -> Scan:
    with path.open("rb") as file:
        header = decode_segment_header(file.read(SEGMENT_HEADER_BYTES))
        assert isinstance(header, SegmentHeader)
        window = SegmentWindow(file.fileno(), header.identity, path.stat().st_size)
        return scan_records(window, path, header, verify_data=verify_data, all_durable=all_durable)


def test_a_walk_ends_behind_the_last_record(segment: Path) -> None:
    scan = scanned(segment)
    assert (scan.end, scan.high, scan.sealed, scan.damage) == (place(4), 35, False, [])
    assert scan.group_start == place(3)


def test_damaged_data_loses_the_interval_of_its_record(segment: Path) -> None:
    damage_byte(segment, place(1) + RECORD_HEADER_BYTES)
    assert scanned(segment).damage == [Damage(segment, place(1), 10, 15)]
    assert scanned(segment).damage[0].interval == (10, 15)
    assert scanned(segment, verify_data=False).damage == []


def test_a_damaged_header_loses_everything_up_to_the_next_record(segment: Path) -> None:
    damage_byte(segment, place(1))
    scan = scanned(segment)
    assert scan.damage == [Damage(segment, place(1), 5, 20)]
    assert (scan.end, scan.high) == (place(4), 35)


def test_damage_to_the_last_group_is_the_end_unless_all_is_durable(segment: Path) -> None:
    damage_byte(segment, place(3))
    assert (scanned(segment).end, scanned(segment).damage) == (place(3), [])


def test_records_that_go_back_in_time_are_refused(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    at = log_directory(tmp_path)
    log = at.open()
    assert log.commit([record(10, DATA), record(3, DATA)]) == []
    log._writer.close()
    log._writer = None
    with pytest.raises(CorruptLog, match=r"covers \[3, 4\), which is not above 11"):
        scanned(at.segments()[0])


def test_records_are_found_without_walking(segment: Path) -> None:
    with segment.open("rb") as file:
        header = decode_segment_header(file.read(SEGMENT_HEADER_BYTES))
        assert isinstance(header, SegmentHeader)
        window = SegmentWindow(file.fileno(), header.identity, segment.stat().st_size)
        found = [each.offset for each in records_behind(window, place(0))]
    assert found == [place(1), place(2), place(3)]

"""Looking at a log without changing it."""

from pathlib import Path
from typing import Any

import pytest

from penstock.store.repair.inspection import inspect_log
from penstock.store.segments.framing import (
    RECORD_HEADER_BYTES,
    SEGMENT_HEADER_BYTES,
    framed_bytes,
)
from penstock.store.segments.log_account import LogAccount

KILOBYTE = bytes(1024)


@pytest.fixture
def segments(tmp_path: Path, log_directory: Any, record: Any) -> list[Path]:
    """Three segments, the ticks 0 to 9 in them, sealed."""
    at = log_directory(tmp_path / "prices", segment_bytes=8192)
    log = at.open()
    for tick in range(9):
        assert log.commit([record(tick, KILOBYTE)]) == []
    log.close()
    # A log's directory has the log's name.
    directory = (tmp_path / "prices" / "log").rename(tmp_path / "prices" / "prices")
    return sorted(directory.glob("*.segment"))


def test_a_sound_log_has_no_problems(segments: list[Path]) -> None:
    before = [path.read_bytes() for path in segments]
    found = inspect_log(segments[0].parent)
    assert (found.name, found.first, found.end) == ("prices", 0, 9)
    assert found.all_problems() == []
    assert not found.lost
    assert found.used_bytes >= 9 * framed_bytes(1024)
    assert [path.read_bytes() for path in segments] == before


def test_damage_is_named_with_its_ticks(segments: list[Path]) -> None:
    content = bytearray(segments[0].read_bytes())
    content[SEGMENT_HEADER_BYTES + RECORD_HEADER_BYTES] ^= 1
    segments[0].write_bytes(content)
    found = inspect_log(segments[0].parent)
    assert list(found.lost) == [(0, 1)]
    [problem] = found.all_problems()
    assert "damaged at offset 4096: [0, 1) is lost" in problem
    known = inspect_log(segments[0].parent, account=LogAccount(0, ((0, 1),)))
    assert known.all_problems() == []


def test_a_missing_segment_loses_its_ticks(segments: list[Path]) -> None:
    segments[1].unlink()
    found = inspect_log(segments[0].parent)
    [problem] = found.all_problems()
    assert "the file is missing; everything in it is lost" in problem
    low, high = next(iter(found.lost))
    assert 0 < low < high < 9


def test_a_segment_of_another_log_is_not_taken_for_this_one(segments: list[Path]) -> None:
    renamed = segments[0].parent.with_name("others")
    segments[0].parent.rename(renamed)
    problems = inspect_log(renamed).all_problems()
    assert "the file is segment 1 of the log 'prices'" in problems[0]


def test_the_end_on_record_that_is_not_there_is_missing(segments: list[Path]) -> None:
    found = inspect_log(segments[0].parent, account=LogAccount(20, (), True))
    assert list(found.lost) == [(9, 20)]
    assert found.all_problems() == [
        "the log ends at 9, and 20 is on record when the store was closed: [9, 20) is missing"
    ]


def test_a_log_without_files_is_empty(tmp_path: Path) -> None:
    found = inspect_log(tmp_path / "none")
    assert (found.segments, found.first, found.end) == ([], 0, 0)

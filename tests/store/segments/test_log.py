import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.store.interface import LogBounds
from penstock.store.segments.passing_cache import STEP_BYTES, PassingCache

KILOBYTE = bytes(1024)


def fill(log: Any, record: Any, ticks: range) -> None:
    """One commit for each tick, of one record of a kilobyte."""
    for tick in ticks:
        assert log.commit([record(tick, KILOBYTE)]) == []


def test_what_was_committed_is_read_again(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    log = log_directory(tmp_path).open()
    assert log.bounds() == LogBounds(0, 0, 0)
    assert log.commit([record(5, [b"a", memoryview(b"bc")]), record(6, b""), record(9, b"d")]) == []
    assert everything(log) == [(5, b"abc"), (6, b""), (9, b"d")]
    assert log.bounds() == LogBounds(0, 10, 3 * 40 + 8 + 8)
    log.close()


def test_a_slice_holds_the_records_that_touch(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    log = log_directory(tmp_path).open()
    log.commit([record(10, b"a", high=20), record(30, b"b", high=40), record(40, b"c", high=50)])
    part = log.read(19, 31, 1000)
    assert [(found.low, found.high, bytes(found.data)) for found in part.records] == [
        (10, 20, b"a"),
        (30, 40, b"b"),
    ]
    assert (part.complete_from, part.complete_to) == (19, 31)
    silence = log.read(20, 30, 1000)
    assert (silence.records, silence.complete_to) == ([], 30)
    beyond = log.read(45, 100, 1000)
    assert (len(beyond.records), beyond.complete_to) == (1, 50)
    above = log.read(70, 100, 1000)
    assert (above.records, above.complete_from, above.complete_to) == ([], 70, 70)
    log.close()


def test_a_small_part_of_what_was_read_keeps_nothing_else_alive(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    log = log_directory(tmp_path).open()
    log.commit([record(tick, bytes(100)) for tick in range(50)])
    part = log.read(10, 40, 1 << 20, 2)
    assert ([found.low for found in part.records], part.complete_to) == ([10, 11], 12)
    assert [len(found.data.obj) for found in part.records] == [100, 100]
    whole = log.read(0, 50, 1 << 20)
    assert len({id(found.data.obj) for found in whole.records}) == 1
    log.close()


def test_the_limit_on_bytes_cuts_a_slice_before_the_next_record(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    log = log_directory(tmp_path).open()
    log.commit([record(tick, bytes(100)) for tick in range(0, 50, 5)])
    part = log.read(0, 100, 250)
    assert ([found.low for found in part.records], part.complete_to) == ([0, 5], 10)
    single = log.read(5, 100, 0)
    assert ([found.low for found in single.records], single.complete_to) == ([5], 10)
    log.close()


def test_a_log_spreads_over_segments_and_is_read_across_them(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    fill(log, record, range(20))
    assert len(at.segments()) == 7
    assert [tick for tick, _ in everything(log)] == list(range(20))
    assert [found.low for found in log.read(7, 13, 10**6).records] == list(range(7, 13))
    log.close()
    log = at.open()
    assert [found.low for found in log.read(7, 13, 10**6).records] == list(range(7, 13))
    fill(log, record, range(20, 23))
    assert [tick for tick, _ in everything(log)] == list(range(23))
    log.close()


def test_one_commit_may_fill_several_segments(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    assert log.commit([record(tick, KILOBYTE) for tick in range(20)]) == []
    assert len(at.segments()) == 7
    assert log.syncs == 7
    log.close()
    log = at.open(verify="all")
    assert [tick for tick, _ in everything(log)] == list(range(20))
    log.close()


def test_trimming_drops_whole_segments_and_remembers_where(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192, spares=0)
    log = at.open()
    fill(log, record, range(20))
    assert log.trim(10)
    assert log.first_low == 10
    assert [tick for tick, _ in everything(log)] == list(range(10, 20))
    log.drop_trimmed()
    assert len(at.segments()) == 4
    assert not log.trim(9)
    assert log.trim(100)
    log.drop_trimmed()
    assert len(at.segments()) == 1
    assert log.bounds() == LogBounds(20, 20, log.bounds().stored_bytes)
    log.close()
    # Without the saved trim the log starts where its first segment does: lower, never higher.
    reopened = at.open()
    assert reopened.first_low == 18
    reopened.close()
    reopened = at.open(trimmed_below=20)
    assert reopened.first_low == reopened.end_high == 20
    reopened.close()


def test_a_slice_of_a_trimmed_log_says_from_where_it_is_complete(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    log = log_directory(tmp_path).open()
    log.commit([record(10, b"a", high=20), record(20, b"b", high=30)])
    log.trim(15)
    part = log.read(0, 25, 1000)
    assert ([found.low for found in part.records], part.complete_from) == ([10, 20], 15)
    log.close()


def test_trimmed_files_are_used_again(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192, spares=2)
    log = at.open()
    fill(log, record, range(20))
    log.trim(19)
    log.drop_trimmed()
    assert len(at.spares) == 2
    fill(log, record, range(20, 26))
    assert len(at.spares) == 0
    assert [tick for tick, _ in everything(log)] == list(range(19, 26))
    log.close()
    log = at.open(trimmed_below=19, verify="all")
    assert [tick for tick, _ in everything(log)] == list(range(19, 26))
    log.close()


def descriptor_of(path: Path) -> int:
    """The descriptor through which this process has a file open."""
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_symlink() and os.readlink(entry) == str(path):
            return int(entry.name)
    raise AssertionError(f"{path} is not open")


def replace_device(path: Path, device: str) -> None:
    """Put a device that fails in the place of an open file."""
    descriptor = os.open(device, os.O_RDWR)
    os.dup2(descriptor, descriptor_of(path))
    os.close(descriptor)


def test_after_a_failed_sync_the_log_refuses_until_it_is_opened_again(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path)
    log = at.open()
    log.commit([record(0, b"a")])
    replace_device(at.segments()[0], "/dev/null")  # which takes writes and cannot sync
    (failure,) = log.commit([record(1, b"b")])
    assert (failure.token, failure.log, failure.retriable) == (1, "prices", False)
    assert failure.uncertain
    assert "fdatasync failed" in failure.reason
    (again,) = log.commit([record(1, b"b", epoch=1)])
    assert not again.retriable
    assert not again.uncertain, "it was not even tried"
    assert everything(log) == [(0, b"a")]
    log.close()
    log = at.open()
    assert log.commit([record(1, b"b")]) == []
    assert everything(log) == [(0, b"a"), (1, b"b")]
    log.close()


def test_after_a_write_that_cannot_be_undone_the_log_refuses_until_it_is_opened_again(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    at = log_directory(tmp_path)
    log = at.open()
    log.commit([record(0, b"a")])
    replace_device(at.segments()[0], "/dev/full")
    failures = log.commit([record(1, b"b"), record(2, b"c")])
    assert [failure.token for failure in failures] == [1, 2]
    assert not failures[0].retriable
    assert all(failure.uncertain for failure in failures)
    log.close()


def test_appends_behind_a_failed_one_fail_until_a_later_epoch(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    """A directory in the place of the next segment makes its creation fail, until it is gone."""
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    fill(log, record, range(3))
    obstacle = tmp_path / "log" / f"{2:020d}.unfinished"
    obstacle.mkdir()
    failures = log.commit([record(3, KILOBYTE), record(4, b"small")])
    assert [failure.token for failure in failures] == [3, 4]
    assert failures[0].retriable
    obstacle.rmdir()
    assert [failure.token for failure in log.commit([record(5, b"x")])] == [5]
    mixed = log.commit([record(6, b"x"), record(3, b"y", epoch=1), record(4, b"z", epoch=1)])
    assert [failure.token for failure in mixed] == [6]
    assert [tick for tick, _ in everything(log)] == list(range(5))
    log.close()


def test_a_segment_that_cannot_be_dropped_stays_in_the_log(
    tmp_path: Path, log_directory: Any, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    fill(log, record, range(20))
    os.rename(tmp_path / "spare", tmp_path / "elsewhere")
    log.trim(10)
    log.drop_trimmed()
    assert "stays for now" in caplog.text
    os.rename(tmp_path / "elsewhere", tmp_path / "spare")
    assert len(at.segments()) == 7
    log.drop_trimmed()
    assert len(at.segments()) == 4
    log.close()


def test_a_log_that_grows_fast_is_read_as_a_whole(
    tmp_path: Path, log_directory: Any, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_back = []
    monkeypatch.setattr(
        "penstock.store.segments.log.give_back_cache",
        lambda path, start, stop: given_back.append((path.name, start, stop)),
    )
    # All of it in one moment.
    monkeypatch.setattr("penstock.store.segments.log.time.monotonic", lambda: 0.0)
    monkeypatch.setattr(
        "penstock.store.segments.log.PassingCache", partial(PassingCache, 8 * STEP_BYTES)
    )
    log = log_directory(tmp_path, segment_bytes=16 << 20).open()
    for tick in range(12):
        assert log.commit([record(tick, bytes(4 << 20))]) == []
    # Three records go into a segment, and the last eight of ten steps stay.
    first = f"{1:020d}.segment"
    assert given_back[:2] == [(first, 0, 4 << 20), (first, 4 << 20, 8 << 20)]
    part = log.read(0, 12, 1 << 30)
    assert [len(found.data) for found in part.records] == [4 << 20] * 12
    log.close()


def test_a_commit_clears_the_rest_of_its_last_page(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    directory = log_directory(tmp_path)
    (tmp_path / "spare").mkdir(exist_ok=True)
    (tmp_path / "spare" / "0.spare").write_bytes(b"\xff" * directory.segment_bytes)
    directory = log_directory(tmp_path)
    log = directory.open()
    log.commit([record(1, bytes(5000))])
    (path,) = (tmp_path / "log").glob("*.segment")
    content = path.read_bytes()
    end = len(content.rstrip(b"\xff"))
    assert end % 4096 == 0
    assert end - 4096 < log.bounds().stored_bytes + 4096 <= end
    log.commit([record(2, b"more")])
    assert [low for low, _ in everything(log)] == [1, 2]
    log.close()

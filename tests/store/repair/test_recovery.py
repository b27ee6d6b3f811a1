import errno
import os
import shutil
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.store.interface import CorruptLog
from penstock.store.segments.framing import SEGMENT_HEADER_BYTES

SECTOR_BYTES = 512


def kill(log: Any) -> None:
    """Let go of a log as a killed process does: without a seal."""
    log._writer.close()
    log._writer = None


def flip(path: Path, offset: int, mask: int = 0xFF) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= mask
    path.write_bytes(content)


@pytest.mark.parametrize("ending", ["cut", "zeros", "garbage"])
def test_a_tail_torn_at_any_byte_loses_only_the_last_record(
    tmp_path: Path,
    log_directory: Any,
    record: Any,
    everything: Any,
    ending: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    log.commit([record(0, b"first"), record(1, b"second")])
    start = log.bounds().stored_bytes + SEGMENT_HEADER_BYTES
    log.commit([record(2, b"a torn record of some length")])
    end = log.bounds().stored_bytes + SEGMENT_HEADER_BYTES
    kill(log)
    (path,) = at.segments()
    whole = path.read_bytes()
    for cut in range(start, end):
        tail = {"cut": b"", "zeros": bytes(8192 - cut), "garbage": b"\xaa" * (8192 - cut)}[ending]
        for other in at.segments()[1:]:
            other.unlink()  # begun when the cut left no room
        path.write_bytes(whole[:cut] + tail)
        caplog.clear()
        log = at.open()
        # Padding is not data: a record that lacks only some of it is whole.
        assert everything(log)[:2] == [(0, b"first"), (1, b"second")]
        kept = len(everything(log)) == 3
        assert not kept or (cut >= end - 4 and ending != "cut")
        if ending == "garbage" or (ending == "cut" and cut > start):
            assert kept or "cut off up to" in caplog.text
        assert log.commit([record(3, b"next")]) == []
        kill(log)
        log = at.open()
        assert everything(log)[-1] == (3, b"next")
        kill(log)


def test_a_clean_end_is_not_reported_as_torn(
    tmp_path: Path, log_directory: Any, record: Any, caplog: pytest.LogCaptureFixture
) -> None:
    at = log_directory(tmp_path)
    log = at.open()
    log.commit([record(0, b"first")])
    kill(log)
    kill(at.open())
    assert caplog.text == ""


def test_a_clean_end_in_a_recycled_file_is_not_reported_as_torn(
    tmp_path: Path,
    log_directory: Any,
    record: Any,
    everything: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Old records of the same size stand behind the page in which the new ones end."""
    at = log_directory(tmp_path, segment_bytes=SEGMENT_HEADER_BYTES + 8192)
    log = at.open()
    for tick in range(8):
        log.commit([record(tick, bytes(1024))])
    log.trim(7)
    log.drop_trimmed()
    for tick in range(8, 15):
        log.commit([record(tick, bytes(1024))])
    path = at.segments()[-1]
    assert any(path.read_bytes()[SEGMENT_HEADER_BYTES + 4096 :])
    kill(log)
    log = at.open(trimmed_below=7)
    assert [tick for tick, _ in everything(log)] == list(range(7, 15))
    assert caplog.text == ""
    log.close()


def test_nothing_of_a_torn_commit_stays_in_the_file(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    """Good records behind the tear would otherwise come back behind a new record of that size."""
    at = log_directory(tmp_path)
    log = at.open()
    log.commit([record(0, b"synced")])
    log.commit([record(tick, b"torn") for tick in (1, 2, 3)])
    kill(log)
    (path,) = at.segments()
    torn_from = SEGMENT_HEADER_BYTES + 48
    flip(path, torn_from)
    log = at.open()
    assert everything(log) == [(0, b"synced")]
    assert not any(path.read_bytes()[torn_from:])
    assert path.stat().st_size == at.segment_bytes
    log.close()


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_pages_of_the_last_commit_may_be_missing(
    data: st.DataObject, log_directory: Any, record: Any, everything: Any
) -> None:
    """Every mixture of old and new sectors of an unsynced commit recovers to a prefix of it."""
    sizes = st.lists(st.integers(0, 1500), min_size=1, max_size=6)
    synced, unsynced = data.draw(sizes, "synced"), data.draw(sizes, "unsynced")
    with TemporaryDirectory() as directory:
        at = log_directory(Path(directory), segment_bytes=1 << 16)
        log = at.open()
        if data.draw(st.booleans(), "recycled"):
            # The next segment then lies on the records of an earlier life.
            log.commit([record(tick, bytes(1000)) for tick in range(55)])
            log.commit([record(tick, bytes(5000)) for tick in range(55, 75)])
            log.trim(74)
            log.drop_trimmed()
            log.commit([record(tick, bytes(9000)) for tick in range(75, 81)])
        first = log.end_high
        for number, size in enumerate(synced):
            log.commit([record(first + number, b"s" * size)])
        path = at.segments()[-1]
        before = path.read_bytes()
        durable = everything(log)
        base = first + len(synced)
        torn = [(base + number, b"u" * size) for number, size in enumerate(unsynced)]
        segments = at.segments()
        log.commit([record(tick, content) for tick, content in torn])
        kill(log)
        if at.segments() != segments:
            return  # it went into a new segment, which is synced by itself
        after = path.read_bytes()
        changed = [
            start
            for start in range(0, len(after), SECTOR_BYTES)
            if before[start : start + SECTOR_BYTES] != after[start : start + SECTOR_BYTES]
        ]
        missing = data.draw(st.sets(st.sampled_from(changed)), "missing")
        mixture = bytearray(after)
        for start in missing:
            mixture[start : start + SECTOR_BYTES] = before[start : start + SECTOR_BYTES]
        path.write_bytes(mixture)
        log = at.open(trimmed_below=log.first_low)
        recovered = everything(log)
        assert recovered[: len(durable)] == durable
        assert recovered[len(durable) :] == torn[: len(recovered) - len(durable)]
        if not missing:
            assert len(recovered) == len(durable) + len(torn)
        # Nothing of the torn commit may come back behind what is appended now.
        log.commit([record(log.end_high, b"next")])
        kill(log)
        log = at.open(trimmed_below=log.first_low)
        assert everything(log) == [*recovered, (log.end_high - 1, b"next")]
        log.close()


def committed(at: Any, record: Any, *, seal: bool) -> Path:
    """A segment of three commits of two records, each of 64 bytes with its header."""
    log = at.open()
    for tick in range(0, 6, 2):
        log.commit([record(tick, b"x" * 24), record(tick + 1, b"y" * 24)])
    if seal:
        log.close()
    else:
        kill(log)
    (path,) = at.segments()
    return path


def lost_ticks(log: Any) -> list[int]:
    """The ticks that a read of everything calls lost."""
    return [tick for low, high in log.read(0, 2**62, 2**40).lost for tick in range(low, high)]


def test_damage_before_the_last_commit_is_lost_alone_and_named(
    tmp_path: Path,
    log_directory: Any,
    record: Any,
    everything: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    at = log_directory(tmp_path)
    path = committed(at, record, seal=False)
    whole = path.read_bytes()
    for offset in range(SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES + 4 * 64):
        caplog.clear()
        flip(path, offset, 0x10)
        damaged = offset - offset % 64
        tick = (damaged - SEGMENT_HEADER_BYTES) // 64
        log = at.open()
        assert (
            f"{path} is damaged at offset {damaged}: the ticks [{tick}, {tick + 1}) are lost"
            in (caplog.text)
        )
        assert log.lost() == ((tick, tick + 1),)
        assert lost_ticks(log) == [tick]
        assert [low for low, _ in everything(log)] == [each for each in range(6) if each != tick]
        assert log.commit([record(6, b"z")]) == [], "the log goes on"
        log.close()
        path.write_bytes(whole)


def test_damage_in_the_last_commit_is_lost_after_a_close_and_cut_off_after_a_kill(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    for seal in (True, False):
        at = log_directory(tmp_path / str(seal))
        path = committed(at, record, seal=seal)
        flip(path, SEGMENT_HEADER_BYTES + 4 * 64 + 50)
        log = at.open()
        found = [tick for tick, _ in everything(log)]
        assert found == ([0, 1, 2, 3, 5] if seal else [0, 1, 2, 3])
        assert lost_ticks(log) == ([4] if seal else [])
        log.close()


def test_a_damaged_seal_costs_nothing(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path)
    path = committed(at, record, seal=True)
    flip(path, SEGMENT_HEADER_BYTES + 6 * 64 + 3)
    log = at.open()
    assert [tick for tick, _ in everything(log)] == list(range(6))
    log.close()


def test_closing_and_opening_again_adds_one_seal_at_most(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    at = log_directory(tmp_path)
    path = committed(at, record, seal=True)
    whole = path.read_bytes()
    at.open().close()
    assert path.read_bytes() == whole


def test_damage_in_an_older_segment_is_found_when_verifying_all_and_when_reading(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    for tick in range(9):
        log.commit([record(tick, bytes(1024))])
    log.close()
    path = at.segments()[1]
    whole = path.read_bytes()
    for number, offset in product(range(3), (3, 100)):
        flip(path, SEGMENT_HEADER_BYTES + number * 1064 + offset)
        lost = ((3 + number, 4 + number),)
        log = at.open(verify="all")
        assert log.lost() == lost
        log.close()
        log = at.open()
        assert log.lost() == ()
        assert len(log.read(0, 3, 10**6).records) == 3
        assert log.read(3, 6, 10**6).lost == lost
        assert log.read(0, 9, 10**6).lost == lost
        assert len(everything(log)) == 8
        log.trim(6)
        assert (log.lost(), lost_ticks(log)) == ((), [])
        log.close()
        path.write_bytes(whole)


def test_everything_that_can_be_read_is_read_whatever_is_damaged(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    """Each record is told exactly once: as it is, or as lost."""
    random = Random(7)
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    for tick in range(0, 60, 2):
        log.commit([record(tick, bytes([tick]) * random.randint(1, 900), high=tick + 2)])
    log.close()
    whole = {path: path.read_bytes() for path in at.segments()}
    for _ in range(60):
        for path in random.sample(sorted(whole), 2):
            used = len(whole[path].rstrip(b"\0"))
            for _ in range(random.randint(1, 3)):
                flip(path, random.randrange(SEGMENT_HEADER_BYTES, used))
        log = at.open()
        told: list[int] = []
        position = 0
        while position < 60:
            found = log.read(position, 60, 2000)
            told += [tick for each in found.records for tick in range(each.low, each.high)]
            told += [tick for low, high in found.lost for tick in range(low, high)]
            assert all(bytes(each.data).strip(bytes([each.low])) == b"" for each in found.records)
            assert found.complete_to > position
            position = found.complete_to
        assert sorted(told) == list(range(60))
        log.close()
        for path, content in whole.items():
            path.write_bytes(content)


def test_what_the_disk_cannot_read_is_lost(
    tmp_path: Path, log_directory: Any, record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = log_directory(tmp_path)
    log = at.open()
    for tick in range(40):
        log.commit([record(tick, bytes([tick]) * 1000)])
    log.close()
    pread = os.pread

    def failing(descriptor: int, count: int, offset: int) -> bytes:
        if offset <= 20_000 < offset + count:
            raise OSError(errno.EIO, "Input/output error")
        return pread(descriptor, count, offset)

    log = at.open()
    monkeypatch.setattr(os, "pread", failing)
    found = log.read(0, 40, 10**6)
    ((low, high),) = found.lost
    assert 4096 + low * 1040 <= 20_000 < 4096 + high * 1040
    assert 3 <= high - low <= 6, "no more than the pages of the sector and what shares them"
    assert {each.low for each in found.records} == {*range(low), *range(high, 40)}
    monkeypatch.undo()
    log.close()


def test_a_missing_segment_is_refused(tmp_path: Path, log_directory: Any, record: Any) -> None:
    at = log_directory(tmp_path, segment_bytes=8192)
    log = at.open()
    for tick in range(9):
        log.commit([record(tick, bytes(1024))])
    log.close()
    at.segments()[1].unlink()
    with pytest.raises(CorruptLog, match=r"behind 0{19}1\.segment is missing"):
        at.open()


def test_a_damaged_or_misplaced_header_is_refused(
    tmp_path: Path, log_directory: Any, record: Any
) -> None:
    at = log_directory(tmp_path)
    path = committed(at, record, seal=True)
    whole = path.read_bytes()
    flip(path, 20)
    with pytest.raises(CorruptLog, match="offset 0: the checksum of the segment's header"):
        at.open()
    path.write_bytes(whole)
    shutil.move(path, path.with_name(f"{2:020d}.segment"))
    with pytest.raises(CorruptLog, match="the file is segment 1 of the log 'prices'"):
        at.open()


def test_a_segment_that_was_never_finished_is_removed(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    at = log_directory(tmp_path)
    committed(at, record, seal=False)
    unfinished = tmp_path / "log" / f"{2:020d}.unfinished"
    unfinished.write_bytes(b"half a header")
    log = at.open()
    assert len(everything(log)) == 6
    assert not unfinished.exists()
    log.close()


def test_copies_of_records_inside_data_are_not_taken_for_records(
    tmp_path: Path, log_directory: Any, record: Any, everything: Any
) -> None:
    """A record that holds the segment's own bytes, torn: what it holds must not confuse anybody."""
    at = log_directory(tmp_path)
    path = committed(at, record, seal=False)
    log = at.open()
    stored = path.read_bytes()[SEGMENT_HEADER_BYTES : SEGMENT_HEADER_BYTES + 6 * 64]
    log.commit([record(6, stored)])
    kill(log)
    flip(path, SEGMENT_HEADER_BYTES + 6 * 64 + 3)
    log = at.open()
    assert [tick for tick, _ in everything(log)] == list(range(6))
    log.close()

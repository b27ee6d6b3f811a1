"""A disk that is full for records takes notes, state changes and a new start all the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue

import pytest

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit

OPTIONS = StoreOptions(segment_bytes=8 << 20)
RECORD = bytes(60_000)
SMALL_RECORD = bytes(500)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    mounted = subprocess.run(mount, check=False, capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class Filled:
    """A store that takes no more records."""

    def __init__(self, place: Path) -> None:
        self.commits: SimpleQueue[Commit] = SimpleQueue()
        self.store = DiskStore(place / "data", self.commits.put, OPTIONS)
        self.tick = 0
        for record in (RECORD, SMALL_RECORD):
            while self.append(record):
                pass
        self.records = self.tick

    def append(self, data: bytes, *, note: bool = False) -> bool:
        """One more record; False if it was refused."""
        self.store.append(self.tick, "log", self.tick, self.tick + 1, [data], note=note)
        commit = self.commits.get(timeout=30)
        for failure in commit.failed:
            assert "No space left" in failure.reason
            self.store.resume_after(failure)
        self.tick += len(commit.durable)
        return bool(commit.durable)


def test_notes_and_state_are_taken_when_records_are_not(small_disk: Path) -> None:
    filled = Filled(small_disk)
    assert filled.records
    for _ in range(50):
        assert filled.append(b"what became of a record", note=True)
    # Room that was made for notes is not for records.
    assert not filled.append(RECORD)
    assert not filled.append(SMALL_RECORD)
    filled.store.set_state(-1, {"saved": b"yes"})
    assert filled.commits.get(timeout=30).durable == [-1]
    filled.store.close()


def test_what_notes_allow_to_trim_is_room_for_records_again(small_disk: Path) -> None:
    filled = Filled(small_disk)
    assert filled.append(b"all of them are done", note=True)
    filled.store.trim("log", filled.records)
    filled.store.set_state(-1, {"saved": b"yes"})
    filled.commits.get(timeout=30)
    assert filled.append(RECORD)
    filled.store.close()


def test_a_store_on_a_full_disk_can_be_opened_again(small_disk: Path) -> None:
    filled = Filled(small_disk)
    filled.store.close()
    with DiskStore(small_disk / "data", filled.commits.put, OPTIONS) as store:
        assert len(store.read("log", 0, filled.records, 1 << 30).records) == filled.records

"""What a store says of the end of its logs is true, whatever became of them."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from penstock.store.disk import DiskStore, StoreOptions

OPTIONS = StoreOptions(segment_bytes=1 << 16)


class Ground:
    """A store whose process can be killed: its files are copied while it is open."""

    def __init__(self, directory: Path, outcomes: Any) -> None:
        self.directory = directory
        self._outcomes = outcomes

    def open(self) -> DiskStore:
        return DiskStore(self.directory, self._outcomes, OPTIONS)

    def fill(self, *, kill: bool, state_at: int = 0) -> None:
        """Ten records, each a commit of its own; a change of the state behind some of them."""
        store = self.open()
        for tick in range(10):
            store.append(tick, "prices", tick, tick + 1, [bytes([tick]) * 100])
            self._outcomes.wait_for([tick])
            if tick + 1 == state_at:
                store.set_state(99, {"x": b"1"})
                self._outcomes.wait_for([99])
        if kill:
            shutil.copytree(self.directory, self.directory.with_name("killed"))
        store.close()
        if kill:
            shutil.rmtree(self.directory)
            self.directory.with_name("killed").rename(self.directory)

    @property
    def segment(self) -> Path:
        (path,) = (self.directory / "logs").rglob("*.segment")
        return path

    def cut(self, records: int) -> None:
        """Cut the file off so that not more than so many records are left, and half of one."""
        os.truncate(self.segment, 4096 + records * 144 + 50)

    def told(self) -> tuple[list[int], tuple[tuple[int, int], ...], int]:
        """What can be read, what is lost, and where the log goes on."""
        with self.open() as store:
            found = store.read("prices", 0, 100, 10**6)
            return [each.low for each in found.records], found.lost, store.bounds("prices").end_high


@pytest.fixture
def ground(tmp_path: Path, outcomes: Any) -> Ground:
    return Ground(tmp_path / "store", outcomes())


def test_a_tail_that_is_lost_after_a_clean_stop_is_noticed(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    ground.fill(kill=False)
    ground.cut(7)
    assert ground.told() == (list(range(7)), ((7, 10),), 10)
    assert "ended at 10 when the store was closed: what was stored at the ticks [7, 10)" in (
        caplog.text
    )
    caplog.clear()
    assert ground.told() == (list(range(7)), ((7, 10),), 10), "it is told for ever"
    assert "ERROR" not in caplog.text


def test_a_tail_that_was_on_record_is_noticed_after_a_crash(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    ground.fill(kill=True, state_at=9)
    ground.cut(7)
    assert ground.told() == (list(range(7)), ((7, 9),), 9)
    assert "ended at 9 by the last change of the state" in caplog.text
    assert "they held what was durable, and it is lost" in caplog.text


def test_of_what_was_not_on_record_nothing_is_invented(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    ground.fill(kill=True, state_at=5)
    ground.cut(7)
    assert ground.told() == (list(range(7)), (), 7)
    assert "Nothing on the disk tells which (everything up to tick 5 is there" in caplog.text
    assert "ERROR" not in caplog.text


def test_a_whole_log_that_is_gone_is_noticed(ground: Ground) -> None:
    ground.fill(kill=False)
    shutil.rmtree(ground.segment.parent)
    assert ground.told() == ([], ((0, 10),), 10)


def test_the_log_goes_on_behind_what_is_lost(ground: Ground, outcomes: Any) -> None:
    ground.fill(kill=False)
    ground.cut(7)
    heard = outcomes()
    with DiskStore(ground.directory, heard, OPTIONS) as store:
        store.append(1, "prices", 10, 11, [b"x"])
        heard.wait_for([1])
    assert ground.told() == ([*range(7), 10], ((7, 10),), 11)
    with ground.open() as store:
        store.trim("prices", 10)
    assert ground.told() == ([10], (), 11)


def test_a_restored_tail_is_read(ground: Ground) -> None:
    ground.fill(kill=False)
    whole = ground.segment.read_bytes()
    ground.cut(7)
    ground.told()
    ground.segment.write_bytes(whole)
    assert ground.told() == (list(range(10)), (), 10)


def test_how_the_store_was_left_is_said(ground: Ground, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    ground.open().close()
    assert caplog.text == "", "a new store has no past"
    ground.fill(kill=True, state_at=3)
    caplog.clear()
    ground.open().close()
    assert "was not closed in order" in caplog.text
    caplog.clear()
    ground.open().close()
    assert "was closed in order on 20" in caplog.text
    assert "this is an older copy" in caplog.text


# -- other users --------------------------------------------------------------------------------


def test_nobody_else_can_read_what_is_stored(ground: Ground) -> None:
    mask = os.umask(0)
    try:
        ground.fill(kill=False)
    finally:
        os.umask(mask)
    for path in [ground.directory, *ground.directory.rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


def test_a_directory_that_others_could_read_is_made_private(
    ground: Ground, caplog: pytest.LogCaptureFixture
) -> None:
    ground.fill(kill=False)
    ground.directory.chmod(0o755)
    ground.open().close()
    assert stat.S_IMODE(ground.directory.stat().st_mode) == 0o700
    assert "could be read by other users (mode 755); its mode is 700 now" in caplog.text

"""Checking, trimming and mending a store that no broker has open."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.store.disk import STATE_FILE, DiskStore, StoreOptions
from penstock.store.interface import CorruptLog, CorruptState, StoreError, StoreInUse
from penstock.store.repair.salvage import (
    held,
    inspect_store,
    salvage_log,
    salvage_state,
    trim_log,
)
from penstock.store.segments.framing import SEGMENT_HEADER_BYTES

OPTIONS = StoreOptions(segment_bytes=8192)
TICKS = 30


class Ground:
    """A store with one log of several segments, and what is in it."""

    def __init__(self, directory: Path, outcomes: Any) -> None:
        self.directory = directory
        self._outcomes = outcomes
        with self.open() as store:
            for tick in range(TICKS):
                store.append(tick, "prices", tick, tick + 1, [bytes([tick]) * 900])
            store.set_state(TICKS, {"durable/me": b"17", "cursor/c": b"3"})
            outcomes.wait_for(range(TICKS + 1))

    def open(self) -> DiskStore:
        return DiskStore(self.directory, self._outcomes, OPTIONS)

    @property
    def segments(self) -> list[Path]:
        return sorted((self.directory / "logs" / "prices").glob("*.segment"))

    def told(self) -> tuple[list[int], list[int]]:
        """The ticks that can be read, and those that are told to be lost."""
        with self.open() as store:
            found = store.read("prices", 0, 2**62, 2**40)
            assert all(set(bytes(each.data)) == {each.low} for each in found.records)
            return (
                [each.low for each in found.records],
                [tick for low, high in found.lost for tick in range(low, high)],
            )

    def salvage(self, *, new_state: bool = False) -> list[str]:
        with held(self.directory):
            findings = inspect_store(self.directory)
            done = salvage_state(self.directory, findings, new_state=new_state)
            for log in inspect_store(self.directory).logs:
                done += salvage_log(self.directory, log)
        return done


@pytest.fixture
def ground(tmp_path: Path, outcomes: Any) -> Ground:
    return Ground(tmp_path / "store", outcomes())


def flip(path: Path, offset: int) -> None:
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


def test_a_sound_store_has_nothing_to_mend(ground: Ground) -> None:
    with held(ground.directory):
        findings = inspect_store(ground.directory)
    assert findings.is_sound
    (log,) = findings.logs
    assert (log.name, log.first, log.end, list(log.lost)) == ("prices", 0, TICKS, [])
    assert ground.salvage() == []


def test_a_store_that_is_open_is_left_alone(ground: Ground) -> None:
    with (
        ground.open(),
        pytest.raises(StoreInUse, match="open in another process"),
        held(ground.directory),
    ):
        pass


def test_a_directory_that_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not a broker's data directory"), held(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_is_damaged_is_found_written_down_and_gone_from_the_files(ground: Ground) -> None:
    flip(ground.segments[1], SEGMENT_HEADER_BYTES + 100)
    with held(ground.directory):
        (log,) = inspect_store(ground.directory).logs
    ((low, high),) = log.lost
    assert high - low == 1
    (problem,) = log.all_problems()
    assert f"{ground.segments[1]}: damaged at offset 4096: [{low}, {high}) is lost" == problem

    before = ground.segments[1].read_bytes()
    done = ground.salvage()
    assert f"log 'prices': [{low}, {high}) is lost" in done

    with held(ground.directory):
        findings = inspect_store(ground.directory)
    assert findings.is_sound, "the file is good; the loss is on record"
    assert ground.told() == ([tick for tick in range(TICKS) if tick != low], [low])
    (kept,) = (ground.directory / "damaged" / "prices").iterdir()
    assert kept.read_bytes() == before
    with ground.open() as store:
        store.trim("prices", high)
    assert ground.told() == (list(range(high, TICKS)), []), "a loss that was trimmed is forgotten"


def test_every_kind_of_damage_can_be_mended(tmp_path: Path, outcomes: Any) -> None:
    """Every tick can be read or is told as lost, before and after, and the log goes on."""
    random = Random(3)
    for number in range(25):
        ground = Ground(tmp_path / str(number), outcomes())
        for path in random.sample(ground.segments, random.randint(1, 3)):
            kinds = ["byte", "header", "short"]
            # That a log lacks its beginning cannot be told from a trim.
            kind = random.choice([*kinds, "missing"] if path != ground.segments[0] else kinds)
            if kind == "byte":
                used = len(path.read_bytes().rstrip(b"\0"))
                flip(path, random.randrange(SEGMENT_HEADER_BYTES, used))
            elif kind == "header":
                flip(path, random.randrange(100))
            elif kind == "missing":
                path.unlink()
            else:
                path.write_bytes(path.read_bytes()[: random.randrange(4096, 8192)])
        ground.salvage()
        with held(ground.directory):
            assert inspect_store(ground.directory).is_sound or not ground.segments
        read, lost = ground.told()
        assert sorted([*read, *lost]) == list(range(TICKS)), number
        heard = outcomes()
        with DiskStore(ground.directory, heard, OPTIONS) as store:
            store.append(1, "prices", TICKS, TICKS + 1, [bytes([TICKS])])
            heard.wait_for([1])
        assert ground.told() == ([*read, TICKS], lost)


def test_a_missing_segment_keeps_the_store_from_opening_until_it_is_mended(
    ground: Ground,
) -> None:
    ground.segments[1].unlink()
    with pytest.raises(CorruptLog, match="go on without it: penstock log salvage"):
        ground.open()
    ground.salvage()
    read, lost = ground.told()
    assert sorted([*read, *lost]) == list(range(TICKS))
    assert len(lost) > 1


def test_trimming_gives_up_what_lies_below(ground: Ground) -> None:
    flip(ground.segments[0], 20)
    with pytest.raises(CorruptLog):
        ground.open()
    with held(ground.directory):
        (log,) = inspect_store(ground.directory).logs
        below = log.segments[1].low
        after = trim_log(ground.directory, "prices", below)
        assert (after.first, after.all_problems()) == (below, [])
        with pytest.raises(StoreError, match=f"ends at {TICKS}; it cannot be trimmed to 31"):
            trim_log(ground.directory, "prices", 31)
        with pytest.raises(StoreError, match="has no log 'trades'"):
            trim_log(ground.directory, "trades", 1)
    assert ground.told() == (list(range(below, TICKS)), [])


def test_a_log_that_is_gone_is_found_and_can_be_given_up(ground: Ground) -> None:
    for path in ground.segments:
        path.unlink()
    (ground.directory / "logs" / "prices").rmdir()
    with held(ground.directory):
        (log,) = inspect_store(ground.directory).logs
        assert (log.name, list(log.lost)) == ("prices", [(0, TICKS)])
        trim_log(ground.directory, "prices", TICKS)
        assert inspect_store(ground.directory).is_sound
    assert ground.told() == ([], [])


# -- the state --------------------------------------------------------------------------------


def change_value(directory: Path, key: str, value: bytes) -> None:
    connection = sqlite3.connect(directory / STATE_FILE)
    connection.execute("UPDATE entry SET value = ? WHERE key = ?", (value, key))
    connection.commit()
    connection.close()


def test_a_damaged_value_is_refused_by_name_and_dropped_on_request(ground: Ground) -> None:
    change_value(ground.directory, "durable/me", b"19")
    with pytest.raises(CorruptState, match="the checksum of value 'durable/me' is wrong"):
        ground.open()
    (done,) = ground.salvage()
    assert "value 'durable/me' was dropped" in done
    with ground.open() as store:
        assert store.load_state() == {"cursor/c": b"3"}
    (kept,) = (ground.directory / "damaged").iterdir()
    assert (kept / STATE_FILE).exists()


@pytest.mark.parametrize("how", ["missing", "empty", "garbage"])
def test_a_state_that_is_gone_is_refused_and_begun_anew_on_request(
    ground: Ground, how: str
) -> None:
    path = ground.directory / STATE_FILE
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes(b"" if how == "empty" else b"garbage" * 1000)
    with pytest.raises(CorruptState, match="penstock log salvage --new-state"):
        ground.open()
    with pytest.raises(StoreError, match="--new-state"):
        ground.salvage()
    (done,) = ground.salvage(new_state=True)
    assert "a new one was begun" in done
    assert ground.told() == (list(range(TICKS)), [])


def test_a_new_store_needs_no_state(tmp_path: Path, outcomes: Any) -> None:
    DiskStore(tmp_path / "new", outcomes(), OPTIONS).close()
    DiskStore(tmp_path / "new", outcomes(), OPTIONS).close()

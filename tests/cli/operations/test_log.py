"""``penstock log``: an operator checks and repairs a damaged data directory, then restarts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.main import status_of
from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit

OPTIONS = StoreOptions(segment_bytes=8192)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """Two segments of a pubend's log, closed cleanly."""
    directory = tmp_path / "data"
    with DiskStore(directory, lambda commit: None, OPTIONS) as store:
        for tick in range(10, 16):
            store.append(tick, "pubend/pb.1", tick, tick + 1, [bytes([tick]) * 900])
        store.set_state(99, {"durable/me": b"12"})
    return directory


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run_command(*arguments: object) -> tuple[int, str]:
        status = status_of(["log", *map(str, arguments)])
        shown = capsys.readouterr()
        return status, shown.out + shown.err

    return run_command


def damage(data_dir: Path) -> Path:
    path = min(data_dir.rglob("*.segment"))
    content = bytearray(path.read_bytes())
    content[content.index(bytes([11]) * 900) + 5] ^= 1
    path.write_bytes(content)
    return path


def test_an_undamaged_directory(data_dir: Path, run: Callable[..., tuple[int, str]]) -> None:
    status, shown = run("check", data_dir)
    assert status == 0
    assert shown.splitlines() == [
        "state: good",
        "pubend/pb.1: 2 segments, 5704 bytes, ticks [10, 16)",
        "no damage found",
    ]
    assert run("salvage", data_dir) == (0, "nothing to repair\n")


def test_damage_is_found_and_repaired(data_dir: Path, run: Callable[..., tuple[int, str]]) -> None:
    path = damage(data_dir)
    status, shown = run("check", data_dir)
    assert status == 1
    assert f"  {path}: damaged at offset 5040: [11, 12) is lost" in shown.splitlines()
    assert f"penstock log salvage {data_dir}" in shown
    status, shown = run("salvage", data_dir)
    assert status == 0
    assert "log 'pubend/pb.1': [11, 12) is lost" in shown
    assert "the old file is" in shown
    status, shown = run("check", data_dir)
    assert status == 0
    assert "  [11, 12) is recorded as lost" in shown.splitlines()


def test_trimming_above_the_damage(data_dir: Path, run: Callable[..., tuple[int, str]]) -> None:
    damage(data_dir)
    assert run("trim", data_dir, "pubend/pb.1", 12) == (
        0,
        "pubend/pb.1: 2 segments, 5704 bytes, ticks [12, 16)\n",
    )
    assert run("check", data_dir)[0] == 0
    status, shown = run("trim", data_dir, "pubend/pb.9", 12)
    assert (status, "has no log 'pubend/pb.9'" in shown) == (1, True)


def test_a_running_broker_is_not_touched(
    data_dir: Path, run: Callable[..., tuple[int, str]]
) -> None:
    with DiskStore(data_dir, _ignore, OPTIONS):
        for command in (["check"], ["salvage"], ["trim", "pubend/pb.1", 12]):
            status, shown = run(command[0], data_dir, *command[1:])
            assert (status, "is open in another process; stop that one" in shown) == (1, True)


def test_a_missing_state(data_dir: Path, run: Callable[..., tuple[int, str]]) -> None:
    (data_dir / "state.sqlite3").unlink()
    status, shown = run("check", data_dir)
    assert (status, "is missing or empty" in shown) == (1, True)
    status, shown = run("salvage", data_dir)
    assert (status, "add --new-state" in shown) == (1, True)
    status, shown = run("salvage", data_dir, "--new-state")
    assert (status, "durable subscriptions and cursors are gone" in shown) == (0, True)
    assert run("check", data_dir)[0] == 0


def _ignore(commit: Commit) -> None:
    """Nobody waits."""

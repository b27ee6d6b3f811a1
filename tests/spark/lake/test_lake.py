"""The lake's commit log with concurrent writers and killed processes."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.spark.lake import lake as lake_module
from penstock.spark.lake.lake import (
    Commit,
    CommitConflict,
    DataFile,
    Lake,
    LakeError,
    chosen_runs,
    create_lake,
    open_lake,
)
from penstock.spark.lake.writer import RunLanding, day_of

pytestmark = pytest.mark.xdist_group("spark")

DAY_S = 86_400


def file(path: str, run: str = "r", rows: int = 1) -> DataFile:
    return DataFile(path, run, "2026-01-01", rows, 10, 0, 9)


def land(lake: Lake, run: str, *instants_s: int) -> None:
    with RunLanding(lake, run) as landing:
        for at_s in instants_s:
            landing.add(TraceRecord(at_s * SECOND, "b", "p", "m", at_s, ""))
        landing.commit()


def rows(lake: Lake) -> list[tuple[str, float]]:
    """Every visible row, read directly from the files."""
    found = []
    for each in lake.snapshot().files.values():
        table = pq.ParquetFile(lake.path / each.path).read(columns=["value"])
        found += [(each.run, value) for value in table.column("value").to_pylist()]
    return sorted(found)


def test_a_run_lands_in_the_folders_of_its_days(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    land(lake, "long", 10, DAY_S - 1, DAY_S, 2 * DAY_S + 5)
    files = lake.snapshot().files.values()
    assert sorted((each.day, each.rows) for each in files) == [
        ("1970-01-01", 2),
        ("1970-01-02", 1),
        ("1970-01-03", 1),
    ]
    assert {(each.low_ns, each.high_ns) for each in files if each.day == "1970-01-01"} == {
        (10 * SECOND, (DAY_S - 1) * SECOND)
    }
    assert all((lake.path / each.path).parent.name == f"day={each.day}" for each in files)
    assert not list((lake.path / "staging").iterdir())


def test_a_run_that_is_landed_again_replaces_itself(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    land(lake, "a", 1, 2)
    land(lake, "b", 3)
    land(lake, "a", 4)
    assert rows(lake) == [("a", 4.0), ("b", 3.0)]


def test_a_run_that_is_not_committed_lands_nothing(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    with RunLanding(lake, "a") as landing:
        landing.add(TraceRecord(1, "b", "p", "m", 1.0))
    assert lake.snapshot().files == {}
    assert not list((lake.path / "staging").iterdir())


def test_a_batch_is_committed_once(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    assert lake.commit("landed", [file("a")], batch=("q", 0)) is not None
    assert lake.commit("landed", [file("b")], batch=("q", 0)) is None
    assert lake.commit("landed", [file("c")], batch=("other", 0)) is not None
    assert sorted(lake.snapshot().files) == ["a", "c"]
    assert lake.snapshot().batches == {"q": 0, "other": 0}


def test_the_log_stays_short_and_loses_nothing(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    count = 5 * lake_module.WHOLE_EVERY + 3
    for number in range(count):
        lake.commit("landed", [file(f"f{number}")], batch=("q", number))
    snapshot = open_lake(lake.path).snapshot()
    assert snapshot.version == count
    assert len(snapshot.files) == count
    assert snapshot.batches == {"q": count - 1}
    assert len(list((lake.path / "log").iterdir())) <= 2 * lake_module.WHOLE_EVERY


def test_two_writers_never_take_the_same_number(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")

    def write(name: str) -> None:
        own = open_lake(lake.path)
        for number in range(40):
            own.commit("landed", [file(f"{name}{number}")], batch=(name, number))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    snapshot = lake.snapshot()
    assert snapshot.version == 120
    assert len(snapshot.files) == 120
    assert snapshot.batches == {"a": 39, "b": 39, "c": 39}


def test_replacing_a_removed_file_is_a_conflict(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    land(lake, "a", 1)
    (path,) = lake.snapshot().files
    lake.commit("compacted", [file("new")], removed=[path])
    with pytest.raises(CommitConflict, match="another commit has removed"):
        lake.commit("compacted", [file("newer")], removed=[path])
    assert list(lake.snapshot().files) == ["new"]


def test_old_files_that_no_commit_names_are_deleted(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    land(lake, "a", 1)
    land(lake, "a", 2)
    assert lake.remove_unused() == 0
    assert lake.remove_unused(older_than_s=-1) == 1
    assert rows(lake) == [("a", 2.0)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.booleans()), max_size=20))
def test_a_complete_commit_equals_all_commits_before_it(
    changes: list[tuple[int, bool, bool]],
) -> None:
    """Folding the commits equals folding them with any of them replaced by the state it leaves."""
    plain = folded = lake_module.EMPTY
    for version, (number, removes, whole) in enumerate(changes, start=1):
        added = () if removes else (file(f"f{number}"),)
        removed = (f"f{number}",) if removes else ()
        commit = Commit(version, "", added, removed, {"q": version})
        plain = plain.after(commit)
        if whole:
            everything = tuple(plain.files.values())
            commit = Commit(version, "", everything, (), plain.batches, whole=True)
        folded = folded.after(commit)
    assert folded == plain


def test_a_log_listing_with_a_gap_is_read_again(tmp_path: Path) -> None:
    """A directory that changes while it is listed may show a later entry and not an earlier one."""
    lake = create_lake(tmp_path / "lake")
    for number in range(3):
        lake.commit("landed", [file(f"f{number}")])
    hidden = lake.path / "log" / f"{2:020}.json"
    kept = hidden.read_bytes()
    hidden.unlink()
    with pytest.raises(LakeError, match="changes faster"):
        lake.snapshot()
    hidden.write_bytes(kept)
    assert len(lake.snapshot().files) == 3


def test_a_directory_that_is_no_lake_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LakeError, match=r"there is no lake; `penstock lake --path"):
        open_lake(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(LakeError, match="not empty and no lake"):
        create_lake(tmp_path)
    with pytest.raises(LakeError, match="not empty and no lake"):
        create_lake(tmp_path / "notes.txt")
    newer = create_lake(tmp_path / "newer")
    (newer.path / "lake.json").write_text('{"penstock_lake": 99}')
    with pytest.raises(LakeError, match="the lake has format 99"):
        open_lake(newer.path)
    damaged = create_lake(tmp_path / "damaged")
    damaged.commit("landed", [file("a")])
    (damaged.path / "log" / f"{1:020}.json").write_bytes(b"{")
    with pytest.raises(LakeError, match=r"0001\.json: damaged"):
        damaged.snapshot()


def test_an_unknown_run_is_refused_with_a_list_of_runs(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    for number in range(25):
        lake.commit("landed", [file(f"f{number}", run=f"r{number:02}")])
    snapshot = lake.snapshot()
    assert chosen_runs(lake, snapshot, ["r03", "r01", "r03"]) == ["r03", "r01"]
    with pytest.raises(LakeError, match=r"no run 'x'; there are: r00, r01, .*r19 and 5 more"):
        chosen_runs(lake, snapshot, ["x"])


@given(st.integers(0, 2**62))
def test_a_day_begins_at_midnight_in_utc(at: int) -> None:
    later = (at // (DAY_S * SECOND) + 1) * DAY_S * SECOND
    assert day_of(later - 1) < day_of(later)
    assert day_of(at) == day_of(later - 1)


def test_commits_are_json_that_others_can_read(tmp_path: Path) -> None:
    lake = create_lake(tmp_path / "lake")
    lake.commit("landed batch 0", [file("a")], batch=("q", 0))
    entry = msgspec.json.decode((lake.path / "log" / f"{1:020}.json").read_bytes())
    assert entry["what"] == "landed batch 0"
    assert entry["added"][0]["path"] == "a"

"""A table with concurrent writers, repeated batches and killed processes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.spark.tables.data_file import DataFile, partition_path
from penstock.spark.tables.table import (
    CommitConflict,
    OpenTable,
    Snapshot,
    TableError,
    TableFormat,
    create_table,
    open_table,
)

FORM = TableFormat(
    "test rows",
    pa.schema([("at_ns", pa.int64()), ("value", pa.float64()), ("run", pa.string())]),
    ("run",),
    "at_ns",
)


@pytest.fixture
def table(tmp_path: Path) -> OpenTable:
    return create_table(tmp_path / "table", FORM)


def written(table: OpenTable, run: str, *values: float) -> list[DataFile]:
    """A file with rows of one run, which no commit names yet."""
    with table.staging() as staged:
        folder = staged / partition_path({"run": run})
        folder.mkdir(parents=True)
        columns = {"at_ns": pa.array(range(len(values)), pa.int64()), "value": pa.array(values)}
        pq.write_table(pa.table(columns), folder / "rows.parquet")
        return table.adopt(staged)


def values(table: OpenTable) -> list[float]:
    return sorted(table.snapshot().delta.to_pyarrow_table().column("value").to_pylist())


def test_rows_are_visible_from_their_commit_on(table: OpenTable) -> None:
    files = written(table, "a", 1.0, 2.0)
    assert values(table) == []
    after = table.commit("wrote", files)
    assert after is not None
    assert (after.version, after.rows, values(table)) == (1, 2, [1.0, 2.0])
    (file,) = after.files.values()
    assert (file.partition, file.low_ns, file.high_ns) == ({"run": "a"}, 0, 1)


def test_other_tools_read_the_table_as_it_is(table: OpenTable) -> None:
    table.commit("wrote", written(table, "strange / name", 1.0, 2.0))
    table.commit("wrote", written(table, "b", 3.0))
    by_run = {"strange / name": 2, "b": 1}
    counted = polars.scan_delta(str(table.path)).group_by("run").len().collect()
    assert dict(counted.iter_rows()) == by_run
    rows = table.snapshot().delta.to_pyarrow_dataset()  # DuckDB finds it by its name here
    found = duckdb.sql("SELECT run, count(*) FROM rows GROUP BY run").fetchall()
    assert dict(found) == by_run
    assert rows.count_rows() == 3


def test_a_batch_is_committed_once(table: OpenTable) -> None:
    assert table.commit("landed", written(table, "a", 1.0), batch=("q", 0)) is not None
    assert table.commit("landed", written(table, "a", 2.0), batch=("q", 0)) is None
    assert table.commit("landed", written(table, "a", 3.0), batch=("other", 0)) is not None
    assert table.commit("landed", (), batch=("q", 1)) is not None
    again = open_table(table.path, FORM)
    assert values(again) == [1.0, 3.0]
    snapshot = again.snapshot()
    assert [snapshot.last_batch(query) for query in ("q", "other", "new")] == [1, 0, -1]


def test_two_writers_that_repeat_each_other_commit_each_batch_once(table: OpenTable) -> None:
    problems: list[BaseException] = []

    def write(name: str) -> None:
        try:
            own = open_table(table.path, FORM)
            for number in range(15):
                own.commit("landed", written(own, name, float(number)), batch=("shared", number))
                own.commit("landed", written(own, name, 100.0 + number), batch=(name, number))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    shared = [float(number) for number in range(15)]
    assert values(table) == sorted([*shared, *(3 * [100.0 + number for number in range(15)])])


def test_files_are_replaced_in_one_commit(table: OpenTable) -> None:
    table.commit("wrote", written(table, "a", 1.0))
    table.commit("wrote", written(table, "b", 2.0))

    def of_a(snapshot: Snapshot) -> Iterator[str]:
        return (each.path for each in snapshot.files.values() if each.partition["run"] == "a")

    table.commit("replaced", written(table, "a", 3.0), removing=of_a)
    assert values(table) == [2.0, 3.0]
    earlier = table.snapshot(version=2)
    assert sorted(file.rows for file in earlier.files.values()) == [1, 1]
    assert {(table.path / file).exists() for file in earlier.files} == {True}


def test_replacing_a_removed_file_is_a_conflict(table: OpenTable) -> None:
    before = table.commit("wrote", written(table, "a", 1.0))
    assert before is not None
    table.commit("removed", (), removing=lambda snapshot: list(before.files))
    with pytest.raises(CommitConflict, match="another commit has removed"):
        table.commit("again", (), removing=lambda snapshot: list(before.files))


def test_small_files_are_merged_and_readers_keep_their_snapshot(table: OpenTable) -> None:
    for number in range(5):
        table.commit("landed", written(table, "a / b", float(number)), batch=("q", number))
    before = table.snapshot()
    done = table.merge_small_files(1 << 20)
    assert (done["numFilesRemoved"], done["numFilesAdded"]) == (5, 1)
    assert values(table) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert table.remove_unused() == 0
    assert {(table.path / path).exists() for path in before.files} == {True}
    assert table.remove_unused(older_than_s=0) == 5
    assert values(table) == [0.0, 1.0, 2.0, 3.0, 4.0]
    merged = table.snapshot()
    assert merged.last_batch("q") == 4
    (file,) = merged.files.values()
    assert (file.rows, file.partition) == (5, {"run": "a / b"})
    assert (table.path / file.path).exists()


def test_files_of_a_killed_writer_are_deleted_when_they_are_old(table: OpenTable) -> None:
    table.commit("landed", written(table, "a", 1.0))
    (lost,) = written(table, "a", 2.0)
    assert table.remove_unused() == 0
    assert table.remove_unused(older_than_s=0) == 1
    assert not (table.path / lost.path).exists()
    assert values(table) == [1.0]


def test_a_long_log_loses_nothing(table: OpenTable) -> None:
    (file,) = written(table, "a", 1.0)
    table.commit("landed", [file], batch=("q", 0))
    for number in range(1, 120):
        table.commit("landed", (), batch=("q", number))
    assert list((table.path / "_delta_log").glob("*.checkpoint.parquet"))
    snapshot = open_table(table.path, FORM).snapshot()
    assert (snapshot.version, snapshot.last_batch("q"), list(snapshot.files)) == (
        120,
        119,
        [file.path],
    )


def test_the_log_says_what_was_done(table: OpenTable) -> None:
    table.commit("landed batch 0", written(table, "a", 1.0), notes={"ticks": "{}"})
    (entry,) = table.snapshot().delta.history(limit=1)
    assert (entry["penstock"], entry["ticks"]) == ("landed batch 0", "{}")


def test_a_directory_that_is_no_table_is_refused(tmp_path: Path, table: OpenTable) -> None:
    with pytest.raises(TableError, match="there is no table"):
        open_table(tmp_path / "nowhere", FORM)
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "notes.txt").write_text("mine")
    with pytest.raises(TableError, match="not empty and no table"):
        create_table(occupied, FORM)
    with pytest.raises(TableError, match="not empty and no table"):
        create_table(occupied / "notes.txt", FORM)
    other = TableFormat("other rows", FORM.columns, FORM.partition_by, FORM.instant)
    with pytest.raises(TableError, match="is 'test rows' and no 'other rows'"):
        open_table(table.path, other)
    (table.path / "_delta_log" / f"{0:020}.json").write_bytes(b"{")
    with pytest.raises(TableError, match="the table's log cannot be read"):
        open_table(table.path, FORM)

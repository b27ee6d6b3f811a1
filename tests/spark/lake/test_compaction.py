"""Compaction changes only the files, not the rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import TelemetryFile
from penstock.spark.lake import compaction
from penstock.spark.lake.compaction import Compacted, compact
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import CommitConflict, DataFile, Lake, create_lake
from penstock.spark.lake.writer import partition_path

pytestmark = pytest.mark.xdist_group("spark")


def add_file(lake: Lake, run: str, *values: int) -> None:
    """Adds one more file to a run, as a micro-batch does."""
    with lake.staging() as staged:
        path = staged / partition_path(run, "1970-01-01") / "rows.parquet"
        with TelemetryFile(path, run, {}) as file:
            for value in values:
                file.add(TraceRecord(value * SECOND, "b", "p", "m", value))
        lake.commit("landed", lake.adopt(staged))


def rows_of(spark: SparkSession, lake: Lake, files: list[DataFile]) -> list[tuple[str, float]]:
    return sorted((row["run"], row["value"]) for row in read_files(spark, lake, files).collect())


def all_files(lake: Lake) -> list[DataFile]:
    return list(lake.snapshot().files.values())


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = create_lake(tmp_path / "lake")
    for number in range(4):
        add_file(lake, "busy", number)
    add_file(lake, "strange / name", 7)
    add_file(lake, "strange / name", 8)
    add_file(lake, "single", 9)
    return lake


EXPECTED = [
    *(("busy", float(number)) for number in range(4)),
    ("single", 9.0),
    ("strange / name", 7.0),
    ("strange / name", 8.0),
]


def test_compaction_merges_files_and_keeps_rows(spark: SparkSession, lake: Lake) -> None:
    assert compact(spark, lake) == Compacted(2, 6, 2, 6, 0)
    assert len(all_files(lake)) == 3
    assert rows_of(spark, lake, all_files(lake)) == EXPECTED
    assert compact(spark, lake) == Compacted(0, 0, 0, 0, 0)


def test_a_running_reader_keeps_its_snapshot(spark: SparkSession, lake: Lake) -> None:
    before = all_files(lake)
    compact(spark, lake)
    assert rows_of(spark, lake, before) == EXPECTED
    compact(spark, lake, removed_stay_s=-1)
    assert rows_of(spark, lake, all_files(lake)) == EXPECTED
    assert not any((lake.path / file.path).exists() for file in before if file.run != "single")


def test_rows_landed_during_compaction_stay(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = compaction.write_files

    def write_and_land(*arguments: object) -> list[DataFile]:
        add_file(lake, "busy", 100)
        return write(*arguments)

    monkeypatch.setattr(compaction, "write_files", write_and_land)
    compact(spark, lake)
    assert rows_of(spark, lake, all_files(lake)) == sorted([*EXPECTED, ("busy", 100.0)])


def test_of_two_concurrent_compactions_one_does_nothing(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = compaction.write_files

    def write_after_the_other(*arguments: object) -> list[DataFile]:
        monkeypatch.setattr(compaction, "write_files", write)
        compact(spark, lake)
        return write(*arguments)

    monkeypatch.setattr(compaction, "write_files", write_after_the_other)
    with pytest.raises(CommitConflict):
        compact(spark, lake)
    assert rows_of(spark, lake, all_files(lake)) == EXPECTED

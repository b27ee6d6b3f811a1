"""Compaction changes only the files, not the rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import TelemetryFile
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import create_lake
from penstock.spark.tables.compaction import Compacted, compact
from penstock.spark.tables.data_file import DataFile, partition_path
from penstock.spark.tables.table import OpenTable

pytestmark = pytest.mark.xdist_group("spark")


def add_file(lake: OpenTable, run: str, *values: int) -> None:
    """Adds one more file to a run, as a micro-batch does."""
    with lake.staging() as staged:
        path = staged / partition_path({"run": run, "day": "1970-01-01"}) / "rows.parquet"
        with TelemetryFile(path, run, {}) as file:
            for value in values:
                file.add(TraceRecord(value * SECOND, "b", "p", "m", value))
        lake.commit("landed", lake.adopt(staged))


def rows_of(spark: SparkSession, lake: OpenTable, files: list[DataFile]) -> list[tuple[str, float]]:
    return sorted((row["run"], row["value"]) for row in read_files(spark, lake, files).collect())


def all_files(lake: OpenTable) -> list[DataFile]:
    return list(lake.snapshot().files.values())


@pytest.fixture
def lake(tmp_path: Path) -> OpenTable:
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


def test_compaction_merges_files_and_keeps_rows(spark: SparkSession, lake: OpenTable) -> None:
    assert compact(lake) == Compacted(2, 6, 2, 0)
    assert len(all_files(lake)) == 3
    assert rows_of(spark, lake, all_files(lake)) == EXPECTED
    assert compact(lake) == Compacted(0, 0, 0, 0)


def test_a_running_reader_keeps_its_snapshot(spark: SparkSession, lake: OpenTable) -> None:
    before = all_files(lake)
    compact(lake)
    assert rows_of(spark, lake, before) == EXPECTED
    compact(lake, removed_stay_s=0)
    assert rows_of(spark, lake, all_files(lake)) == EXPECTED
    replaced = [file for file in before if file.partition["run"] != "single"]
    assert not any((lake.path / file.path).exists() for file in replaced)


def test_rows_that_land_after_a_compaction_stay(spark: SparkSession, lake: OpenTable) -> None:
    compact(lake)
    add_file(lake, "busy", 100)
    compact(lake)
    assert rows_of(spark, lake, all_files(lake)) == sorted([*EXPECTED, ("busy", 100.0)])

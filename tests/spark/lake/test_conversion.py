"""A lake of the former format becomes a Delta table in its place."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from pyspark.sql import SparkSession

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import TelemetryFile
from penstock.spark.lake import conversion
from penstock.spark.lake.conversion import convert
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import open_lake
from penstock.spark.tables.table import OpenTable, TableError

pytestmark = pytest.mark.xdist_group("spark")


class FormerLake:
    """Writes what the former version wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.version = 0
        for part in ("data", "log", "staging", "checkpoints/telemetry"):
            (path / part).mkdir(parents=True)
        (path / "lake.json").write_text('{"penstock_lake":1}')

    def file(self, name: str, run: str, *values: int) -> dict[str, object]:
        folder = f"data/run={quote(run, safe='')}/day=1970-01-01"
        path = self.path / folder / f"{name}.parquet"
        with TelemetryFile(path, run, {}) as file:
            for value in values:
                file.add(TraceRecord(value * SECOND, "b", "p", "m", value))
        bounds = {"low_ns": min(values) * SECOND, "high_ns": max(values) * SECOND}
        place = {"path": f"{folder}/{name}.parquet", "run": run, "day": "1970-01-01"}
        return {**place, "rows": len(values), "size_bytes": path.stat().st_size, **bounds}

    def commit(self, *added: dict[str, object], **more: object) -> None:
        self.version += 1
        entry = {"version": self.version, "what": "landed", "added": added, **more}
        (self.path / "log" / f"{self.version:020}.json").write_text(json.dumps(entry))


@pytest.fixture
def former(tmp_path: Path) -> FormerLake:
    """Four commits: one replaced file, one complete entry, two queries."""
    lake = FormerLake(tmp_path / "lake")
    old = lake.file("old", "up", 1)
    lake.commit(old, batches={"q": 0})
    lake.commit(lake.file("new", "up", 1, 2), removed=[old["path"]])
    kept = lake.file("kept", "strange / name", 7)
    files = [lake.file("new", "up", 1, 2), kept]
    lake.commit(*files, batches={"q": 3}, whole=True)
    lake.commit(lake.file("last", "up", 3), batches={"other": 5})
    (lake.path / "checkpoints" / "telemetry" / "metadata").write_text("{}")
    return lake


EXPECTED = [("strange / name", 7.0), ("up", 1.0), ("up", 2.0), ("up", 3.0)]


def rows(spark: SparkSession, lake: OpenTable) -> list[tuple[str, float]]:
    found = read_files(spark, lake, lake.snapshot().files.values())
    assert {row["day"] for row in found.collect()} == {"1970-01-01"}
    return sorted((row["run"], row["value"]) for row in found.collect())


def test_rows_batches_and_checkpoints_are_kept(spark: SparkSession, former: FormerLake) -> None:
    assert convert(former.path) == 3
    lake = open_lake(former.path)
    assert rows(spark, lake) == EXPECTED
    table = lake.snapshot().delta.to_pyarrow_table(columns=["run", "value"]).to_pylist()
    assert sorted((row["run"], row["value"]) for row in table) == EXPECTED
    assert [lake.snapshot().last_batch(query) for query in ("q", "other")] == [3, 5]
    assert (former.path / "_checkpoints" / "telemetry" / "metadata").exists()
    assert not (former.path / "log").exists()
    with pytest.raises(TableError, match="there is no lake of the former format"):
        convert(former.path)


@pytest.mark.parametrize("dies_in", ["_table", "_described"])
def test_a_conversion_that_was_killed_is_done_again(
    spark: SparkSession, former: FormerLake, monkeypatch: pytest.MonkeyPatch, dies_in: str
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversion, dies_in, die)
        with pytest.raises(KeyboardInterrupt):
            convert(former.path)
    with monkeypatch.context() as patch:
        patch.setattr(conversion.shutil, "rmtree", die)
        with pytest.raises(KeyboardInterrupt):
            convert(former.path)
    with pytest.raises(TableError, match="penstock lake convert"):
        open_lake(former.path)
    convert(former.path)
    assert rows(spark, open_lake(former.path)) == EXPECTED


def test_what_cannot_be_converted_is_refused_and_stays(former: FormerLake) -> None:
    (former.path / "log" / f"{2:020}.json").write_text("{")
    with pytest.raises(TableError, match=r"0002\.json: damaged"):
        convert(former.path)
    (former.path / "lake.json").write_text('{"penstock_lake":7}')
    with pytest.raises(TableError, match="only lakes of format 1"):
        convert(former.path)
    assert (former.path / "log" / f"{1:020}.json").exists()

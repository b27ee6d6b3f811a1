"""What the log says of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.spark.tables.data_file import (
    DataFile,
    by_partition,
    describe,
    partition_of,
    partition_path,
)


def described(tmp_path: Path, **columns: pa.Array) -> DataFile:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return describe(path, "day=d/x.parquet", {"day": "d"}, "at_ns")


def test_rows_size_and_instants_come_from_the_footer(tmp_path: Path) -> None:
    file = described(tmp_path, at_ns=pa.array([5, 3, 9]), text=pa.array(["b", "a", "c"]))
    assert (file.path, file.partition) == ("day=d/x.parquet", {"day": "d"})
    assert (file.rows, file.low_ns, file.high_ns) == (3, 3, 9)
    assert file.size_bytes == (tmp_path / "rows.parquet").stat().st_size
    assert json.loads(file.stats) == {
        "numRecords": 3,
        "minValues": {"at_ns": 3, "text": "a"},
        "maxValues": {"at_ns": 9, "text": "c"},
    }


@pytest.mark.parametrize(
    "column",
    [
        pa.array([float("nan"), 1.0]),
        pa.array([float("inf"), 1.0]),
        pa.array(["x" * 40, "y"]),
        pa.array([None, None], pa.int64()),
        pa.array([b"\xff", b"\x00"]),
    ],
)
def test_values_whose_bounds_cannot_be_trusted_have_none(tmp_path: Path, column: pa.Array) -> None:
    stats = json.loads(described(tmp_path, at_ns=pa.array([1, 2]), odd=column).stats)
    assert stats["minValues"] == {"at_ns": 1}
    assert stats["maxValues"] == {"at_ns": 2}


@pytest.mark.parametrize("value", ["r", "strange / name", "a=b", "ü%20", "."])
def test_a_folder_names_its_partition(value: str) -> None:
    folder = partition_path({"run": value, "day": "2026-01-01"})
    assert len(folder.parts) == 2
    assert partition_of(folder) == {"run": value, "day": "2026-01-01"}


def test_files_are_grouped_by_partition() -> None:
    files = [DataFile(str(n), {"run": f"r{n % 2}"}, 1, 1, 0, 0) for n in range(3)]
    assert by_partition(files) == {("r0",): [files[0], files[2]], ("r1",): [files[1]]}

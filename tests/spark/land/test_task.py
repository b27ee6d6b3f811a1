"""What a task writes holds every message, with its types."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import AttributeType
from penstock.content.rows.frame import Frame
from penstock.core.clock import HOUR
from penstock.spark.land import columns as columns_module
from penstock.spark.land.columns import AttributeColumn, Columns
from penstock.spark.land.task import Told, write_messages
from penstock.spark.schema import default_schema
from penstock.spark.schema_columns import ArrowRows

TICK = 1_700_000_000_000_000_000
PYTHON = {"STRING": str, "INT": int, "FLOAT": float, "BOOL": bool, "BYTES": bytes}

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=3),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-9, 9),
    st.floats(allow_nan=False),
    st.booleans(),
    st.binary(max_size=3),
)
BATCHES = st.lists(
    st.lists(st.dictionaries(st.sampled_from(["n", "N", "day", "a b"]), VALUES), max_size=6),
    max_size=4,
)


def batches_of(messages: list[list[dict[str, Any]]], step: int = 1) -> list[pa.RecordBatch]:
    rows = ArrowRows(default_schema("*"), null_on_mismatch=False)
    made, tick = [], TICK
    for part in messages:
        ticks = np.arange(len(part)) * step + tick
        batch = Batch.from_rows([(attributes, b"x") for attributes in part])
        made.append(rows.of_frames("p", [Frame(tick, tick + step * len(part) + 1, ticks, batch)]))
        tick += step * len(part)
    return made


def run(
    directory: Path, known: list[AttributeColumn], batches: list[pa.RecordBatch]
) -> tuple[Told, list[dict[str, Any]]]:
    """What the task told, and the rows of its files."""
    (answer,) = write_messages(str(directory), known, batches)
    told = msgspec.json.decode(answer.column("told")[0].as_py(), type=Told)
    rows = [
        row for name in told.files for row in pq.ParquetFile(directory / name).read().to_pylist()
    ]
    return told, sorted(rows, key=lambda row: row["tick"])


def attributes_of(row: dict[str, Any], columns: list[AttributeColumn]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for column in columns:
        value = row.get(column.column)
        if value is not None:
            assert column.attribute not in found
            assert type(value) is PYTHON[column.kind.name]
            found[column.attribute] = value
    return found


@settings(deadline=None)
@given(BATCHES)
def test_every_value_of_every_message_is_in_one_column(
    messages: list[list[dict[str, Any]]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        told, rows = run(Path(directory), [], batches_of(messages))
    sent = [attributes for part in messages for attributes in part]
    # A whole number may be in a column of floats, where it is equal.
    assert [attributes_of(row, told.columns) for row in rows] == sent
    last = {"p": TICK + len(sent) - 1} if sent else {}
    assert told.last_ticks == last


def test_whole_numbers_go_to_a_column_of_floats_if_they_are_exact(tmp_path: Path) -> None:
    large = 2**53 + 1
    told, rows = run(tmp_path, [], batches_of([[{"n": 1}, {"n": 1.5}, {"n": large}], [{"n": 2}]]))
    assert [each.column for each in told.columns] == ["n", "n_int"]
    assert [(row["n"], row.get("n_int")) for row in rows] == [
        (1.0, None),
        (1.5, None),
        (None, large),
        (2.0, None),
    ]


def test_a_column_of_whole_numbers_stays_one(tmp_path: Path) -> None:
    told, rows = run(tmp_path, [], batches_of([[{"n": 1}], [{"n": 1.5}], [{"n": 2}]]))
    assert [each.column for each in told.columns] == ["n", "n_float"]
    assert [(row.get("n"), row.get("n_float")) for row in rows] == [
        (1, None),
        (None, 1.5),
        (2, None),
    ]


def test_days_and_new_columns_begin_new_files(tmp_path: Path) -> None:
    told, rows = run(tmp_path, [], batches_of([[{"a": 1}] * 3, [{"b": 1}]], step=12 * HOUR))
    assert [Path(name).parent.name for name in told.files] == [
        "day=2023-11-14",
        "day=2023-11-15",
        "day=2023-11-16",
    ]
    assert len(rows) == 4
    told, _ = run(tmp_path, [], batches_of([[{"a": 1}], [{"a": 1, "b": 1}], [{"a": 1}]]))
    assert len(told.files) == 2


def test_attributes_beyond_the_limit_stand_in_one_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns_module, "MOST_COLUMNS", 1)
    sent = [{"a": "1"}, {"a": "2", "b": "x", "c": b"\xff"}, {"b": 2.5}, {}]
    told, rows = run(tmp_path, [], batches_of([sent]))
    assert [each.column for each in told.columns] == ["a"]
    assert [(row["a"], row["more_attributes"]) for row in rows] == [
        ("1", None),
        ("2", '{"b":"x","c":"/w=="}'),
        (None, '{"b":2.5}'),
        (None, None),
    ]


def test_columns_that_are_known_are_used(tmp_path: Path) -> None:
    columns = Columns()
    columns.of("n", AttributeType.STRING)
    told, rows = run(tmp_path, columns.all(), batches_of([[{"n": 1}]]))
    assert [each.column for each in told.columns] == ["n_int"]
    assert rows[0]["n_int"] == 1

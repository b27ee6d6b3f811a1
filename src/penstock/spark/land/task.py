"""The work of a task: writes its messages to Parquet files with typed columns.

1. A task writes into a directory of its batch, under a name of its own, and tells the driver which
   files it wrote.  Files of attempts that failed are told by nobody and deleted with the directory.
2. When an attribute appears that the file has no column for, the file ends and another one begins.
3. What a task tells: the files, the columns that it used, and the last tick of each pubend.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.content.rows.columns import AttributeType
from penstock.core.clock import HOUR
from penstock.spark.land.columns import DAY, FIXED, MORE, AttributeColumn, Columns
from penstock.spark.schema import ATTRIBUTES, PUBEND, TICK
from penstock.spark.tables.data_file import partition_path
from penstock.spark.typed_map import attribute_arrays

EXACT: Final = 1 << 53
"""Whole numbers up to here are exact as floats."""

TOLD: Final = "told string"
"""The schema of what a task returns: one row."""

DAY_NS: Final = 24 * HOUR


class Told(msgspec.Struct, frozen=True):
    """What a task tells the driver."""

    files: list[str]
    """Relative to the directory of the batch."""
    columns: list[AttributeColumn]
    last_ticks: dict[str, int]


class Writer:
    """Writes the messages of one task."""

    def __init__(self, directory: Path, known: Iterable[AttributeColumn]) -> None:
        self._directory = directory
        self._columns = Columns(known)
        self._used: dict[AttributeColumn, None] = {}
        self._open: dict[str, pq.ParquetWriter] = {}
        self._files: list[str] = []
        self._last_ticks: dict[str, int] = {}

    def write(self, batch: pa.RecordBatch) -> None:
        """Write messages: the columns of the source, with the map that keeps types."""
        if not batch.num_rows:
            return
        ticks = batch.column(TICK)
        days = np.asarray(ticks) // DAY_NS
        table = self._table(batch)
        for day in np.unique(days):
            rows = table.filter(pa.array(days == day))
            self._append(str(np.datetime64(int(day), "D")), rows)
        counted = pa.table({"p": batch.column(PUBEND), "t": ticks}).group_by("p")
        for row in counted.aggregate([("t", "max")]).to_pylist():
            self._last_ticks[row["p"]] = max(row["t_max"], self._last_ticks.get(row["p"], 0))

    def told(self) -> Told:
        """Close the files."""
        for writer in self._open.values():
            writer.close()
        return Told(self._files, list(self._used), self._last_ticks)

    def _table(self, batch: pa.RecordBatch) -> pa.Table:
        names = [name for name in FIXED.names if name not in (DAY, MORE)]
        fields: list[Any] = [FIXED.field(name) for name in names]
        arrays: list[Any] = [
            batch.column(name).cast(field.type) for name, field in zip(names, fields, strict=True)
        ]
        parts: dict[AttributeColumn, pa.Array] = {}
        more: list[dict[str, Any]] = [{} for _ in range(batch.num_rows)]
        found = attribute_arrays(batch.column(ATTRIBUTES))
        # Floats first: an attribute that occurs as both has one column of floats.
        for name, kind, values in sorted(found, key=lambda each: each[1] is AttributeType.INT):
            for column, part in self._placed(name, kind, values):
                if column is None:
                    _add(more, name, part)
                else:
                    parts[column] = pc.coalesce(parts[column], part) if column in parts else part
        fields.append(FIXED.field(MORE))
        arrays.append(pa.array([_json(each) for each in more], pa.string()))
        for column, values in parts.items():
            self._used[column] = None
            fields.append(column.arrow)
            arrays.append(values)
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def _placed(
        self, name: str, kind: AttributeType, values: pa.Array
    ) -> Iterator[tuple[AttributeColumn | None, pa.Array]]:
        """The columns that hold these values; None stands for the column of all others."""
        floats = self._columns.first_with_numbers(name) if kind is AttributeType.INT else None
        if floats is None or floats.kind is AttributeType.INT:
            yield self._columns.of(name, kind), values
            return
        exact = pc.and_(pc.less_equal(values, EXACT), pc.greater_equal(values, -EXACT))
        none = pa.scalar(None, values.type)
        yield floats, pc.if_else(exact, values, none).cast(pa.float64())
        if not pc.all(exact).as_py():
            yield self._columns.of(name, kind), pc.if_else(exact, none, values)

    def _append(self, day: str, rows: pa.Table) -> None:
        writer = self._open.get(day)
        if writer is not None and not set(rows.schema.names) <= set(writer.schema.names):
            self._open.pop(day).close()
            writer = None
        if writer is None:
            writer = self._open[day] = self._begin(day, rows.schema)
        columns = [
            rows.column(field.name)
            if field.name in rows.schema.names
            else pa.nulls(len(rows), field.type)
            for field in writer.schema
        ]
        writer.write_table(pa.Table.from_arrays(columns, schema=writer.schema))

    def _begin(self, day: str, schema: pa.Schema) -> pq.ParquetWriter:
        relative = partition_path({DAY: day}) / f"{uuid.uuid4().hex}.parquet"
        path = self._directory / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        self._files.append(str(relative))
        return pq.ParquetWriter(path, schema, compression="zstd")


def _add(rows: list[dict[str, Any]], name: str, values: pa.Array) -> None:
    for row in np.flatnonzero(np.asarray(values.is_valid())):
        rows[row][name] = values[int(row)].as_py()


def _json(attributes: dict[str, Any]) -> str | None:
    return msgspec.json.encode(attributes).decode() if attributes else None


def write_messages(
    directory: str, known: list[AttributeColumn], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the messages of a task; one row that tells of them."""
    writer = Writer(Path(directory), known)
    for batch in batches:
        writer.write(batch)
    told = msgspec.json.encode(writer.told()).decode()
    yield pa.RecordBatch.from_pydict({"told": [told]})

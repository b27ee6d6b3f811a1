"""Converts columns of Spark to columns of messages, whole columns at a time.

1. A null attribute is one that the message does not have; a null payload is empty.
2. Integers of any width become int64 and floats become doubles: messages have no narrower types.
3. Strings and byte strings are dictionary-encoded here, in the form in which they travel.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import (
    VALUE_DTYPES,
    Array,
    AttributeType,
    Buffer,
    Column,
    Dictionary,
    Mask,
    code_dtype,
    sorted_names,
)
from penstock.spark.schema import ATTRIBUTES, PAYLOAD
from penstock.spark.typed_map import attribute_arrays

MAX_ROWS: Final = 10_000
MAX_BYTES: Final = 1 << 20
"""Rows per message batch: well below the broker's limit (max_batch_rows)."""


def batches_of(record_batch: pa.RecordBatch) -> list[Batch]:
    """The rows of a record batch as message batches of bounded size."""
    rows = record_batch.num_rows
    if not rows:
        return []
    pieces = max(-(-rows // MAX_ROWS), -(-record_batch.nbytes // MAX_BYTES))
    step = max(1, rows // pieces)
    return [batch_of(record_batch.slice(at, step)) for at in range(0, rows, step)]


def batch_of(record_batch: pa.RecordBatch) -> Batch:
    """The rows of a record batch as one batch."""
    rows = record_batch.num_rows
    columns: list[Column] = []
    payloads = _payloads(pa.nulls(rows, pa.binary()))
    for field, array in zip(record_batch.schema, record_batch.columns, strict=True):
        if field.name == PAYLOAD:
            payloads = _payloads(array)
        elif field.name == ATTRIBUTES and pa.types.is_map(field.type):
            columns += _map_columns(array)
        else:
            column = _column(field.name, array)
            if column is not None:
                columns.append(column)
    sorted_names(column.name for column in columns)
    columns.sort(key=lambda column: (column.name, column.kind))
    return Batch(rows, columns=tuple(columns), payloads=payloads)


def _payloads(array: pa.Array) -> tuple[Array, Buffer]:
    filled = pc.fill_null(array.cast(pa.binary()), b"")
    # Concatenation copies a slice into new buffers that begin at 0.
    whole = pa.concat_arrays([filled, pa.array([], pa.binary())])
    _, offsets, data = whole.buffers()
    bounds = np.frombuffer(offsets, dtype="<u4", count=len(whole) + 1)
    if not int(bounds[-1]):
        return bounds, b""
    return bounds, memoryview(data)[: int(bounds[-1])].cast("B")


def _column(name: str, array: pa.Array) -> Column | None:
    """One attribute, or None if no row has it."""
    if array.null_count == len(array):
        return None
    present: Mask | None = None
    if array.null_count:
        present = np.asarray(array.is_valid())
    kind = array.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _encoded(name, array, present)
    if pa.types.is_boolean(kind):
        values = np.asarray(pc.fill_null(array, False)).astype(VALUE_DTYPES[AttributeType.BOOL])
        return Column(name, AttributeType.BOOL, values, present)
    attribute = AttributeType.FLOAT if pa.types.is_floating(kind) else AttributeType.INT
    filled: Any = pc.fill_null(array, 0)
    return Column(name, attribute, np.asarray(filled).astype(VALUE_DTYPES[attribute]), present)


def _encoded(name: str, array: pa.Array, present: Mask | None) -> Column:
    encoded = array.dictionary_encode()
    values = encoded.dictionary
    text = pa.types.is_string(array.type)
    codes = np.asarray(pc.fill_null(encoded.indices, 0)).astype(code_dtype(len(values)))
    dictionary = Dictionary.of(values.to_pylist(), text=text)
    return Column(
        name, AttributeType.STRING if text else AttributeType.BYTES, codes, present, dictionary
    )


def _map_columns(array: pa.MapArray) -> list[Column]:
    """A column for each key that occurs, and for each type of its values."""
    if pa.types.is_struct(array.type.item_type):
        found = [_column(name, each) for name, _, each in attribute_arrays(array)]
        return [column for column in found if column is not None]
    rows = array.to_pylist(maps_as_pydicts="strict")
    keys = dict.fromkeys(key for row in rows if row for key in row)
    found = [
        _column(key, pa.array([row.get(key) if row else None for row in rows], pa.string()))
        for key in keys
    ]
    return [column for column in found if column is not None]

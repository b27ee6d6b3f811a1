"""Converts columns of messages to columns of Spark, whole columns at a time.

1. Strings and byte strings travel as codes and a dictionary; Spark accepts no dictionaries, so they
   are expanded by one vectorised take.
2. An attribute that a message lacks is null.
3. A message whose attribute has another type than the column is an error that names its position,
   or null if the option says so; an integer in a double column is a number and no mismatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import MapType, StructType

from penstock.content.rows.columns import Array, AttributeType, Column
from penstock.content.rows.frame import Frame
from penstock.core.clock import MICROSECOND
from penstock.spark.column_arrays import column_array
from penstock.spark.schema import PAYLOAD, PUBEND, TICK, TIME, is_typed_map
from penstock.spark.typed_map import typed_map_array

KINDS: Final[dict[pa.DataType, AttributeType]] = {
    pa.string(): AttributeType.STRING,
    pa.int64(): AttributeType.INT,
    pa.float64(): AttributeType.FLOAT,
    pa.bool_(): AttributeType.BOOL,
    pa.binary(): AttributeType.BYTES,
}


class TypeMismatch(ValueError):
    """A message's attribute has another type than its column."""


class ArrowRows:
    """Converts frames to record batches of one schema."""

    def __init__(self, schema: StructType, *, null_on_mismatch: bool) -> None:
        """``schema`` must have been checked."""
        self.schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._null_on_mismatch = null_on_mismatch
        self._maps = {
            field.name: typed_map_array if is_typed_map(field.dataType) else _map_array
            for field in schema.fields
            if isinstance(field.dataType, MapType)
        }

    def of_frames(self, pubend: str, frames: Sequence[Frame]) -> pa.RecordBatch:
        """The rows of one or more frames, in order."""
        ticks = _joined([frame.tick_array() for frame in frames])
        arrays = [self._array(field, pubend, frames, ticks) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(
        self, field: pa.Field, pubend: str, frames: Sequence[Frame], ticks: Array
    ) -> pa.Array:
        name = field.name
        if name == PUBEND:
            return pa.repeat(pa.scalar(pubend, pa.string()), len(ticks))
        if name == TICK:
            return pa.array(ticks)
        if name == TIME:
            return pa.array(ticks // MICROSECOND).view(field.type)
        if name == PAYLOAD:
            return _payload_array(frames)
        if name in self._maps:
            return _concatenated([self._maps[name](frame, field.type) for frame in frames])
        return _concatenated([self._attribute(field, pubend, frame) for frame in frames])

    def _attribute(self, field: pa.Field, pubend: str, frame: Frame) -> pa.Array:
        wanted = KINDS[field.type]
        columns = [column for column in frame.batch.columns if column.name == field.name]
        filled: pa.Array | None = None
        for column in columns:
            fits = column.kind is wanted or (
                wanted is AttributeType.FLOAT and column.kind is AttributeType.INT
            )
            if not fits:
                if not self._null_on_mismatch:
                    raise _mismatch(field, column, pubend, frame)
                continue
            # Large integers are rounded in a double column, as everywhere in Spark.
            array = column_array(column).cast(field.type, safe=False)
            filled = array if filled is None else pc.coalesce(filled, array)
        return pa.nulls(len(frame), field.type) if filled is None else filled


def _joined(parts: Sequence[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _concatenated(arrays: Sequence[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


def _payload_array(frames: Sequence[Frame]) -> pa.Array:
    """All payloads, concatenated once; for a single frame, a view of the received bytes."""
    if len(frames) == 1:
        offsets, data = frames[0].batch.payloads
    else:
        payloads = [frame.batch.payloads for frame in frames]
        starts = np.cumsum([0, *(len(data) for _, data in payloads)], dtype=np.uint32)
        shifted = [own[:-1] + start for (own, _), start in zip(payloads, starts, strict=False)]
        offsets = np.concatenate([*shifted, starts[-1:]])
        data = b"".join(data for _, data in payloads)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), sum(map(len, frames)), buffers)


def _map_array(frame: Frame, kind: pa.MapType) -> pa.Array:
    """All attributes of each row as text, the names in order."""
    rows = frame.batch.attribute_rows()
    pairs = [[(name, _text(value)) for name, value in row.items()] for row in rows]
    return pa.array(pairs, kind)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.hex()
    return str(value)


def _mismatch(field: pa.Field, column: Column, pubend: str, frame: Frame) -> TypeMismatch:
    row = 0 if column.present is None else int(np.flatnonzero(column.present)[0])
    tick = int(frame.ticks[row])
    return TypeMismatch(
        f"pubend {pubend!r}, tick {tick}: attribute {field.name!r} has type "
        f"{column.kind.name.lower()}, but the column is {field.type}; declare that type, narrow "
        "the selector, or set the option typeMismatch to 'null'"
    )

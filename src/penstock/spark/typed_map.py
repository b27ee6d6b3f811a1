"""All attributes of a message as one column that keeps their types: the option ``attributes`` = *.

The column is a map from the name to a structure with one field for each type that an attribute can
have, of which one is set:

    attributes map<string, struct<
        string:string, int:bigint, float:double, bool:boolean, bytes:binary>>

Both directions work on whole columns, and what the source gives the sink takes back unchanged.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.content.rows.columns import Array, AttributeType, Column
from penstock.content.rows.frame import Frame
from penstock.spark.column_arrays import column_array

FIELDS: Final[dict[AttributeType, tuple[str, pa.DataType]]] = {
    AttributeType.STRING: ("string", pa.string()),
    AttributeType.INT: ("int", pa.int64()),
    AttributeType.FLOAT: ("float", pa.float64()),
    AttributeType.BOOL: ("bool", pa.bool_()),
    AttributeType.BYTES: ("bytes", pa.binary()),
}
"""The field of each type, and its Arrow type."""


class NotOneValue(ValueError):
    """A structure has no value or several, so it is no attribute."""


def typed_map_array(frame: Frame, kind: pa.MapType) -> pa.Array:
    """All attributes of each row, the names in order."""
    columns = sorted(frame.batch.columns, key=lambda column: (column.name, column.kind))
    if not columns:
        offsets = pa.array(np.zeros(len(frame) + 1, np.int32))
        return pa.MapArray.from_arrays(offsets, pa.array([], pa.string()), _no_items(kind))
    rows = [_rows_of(column, len(frame)) for column in columns]
    owner = np.concatenate(rows)
    # Stable: the entries of a row keep the order of the columns.
    order = np.argsort(owner, kind="stable")
    names = np.repeat(np.arange(len(columns), dtype=np.int32), [len(each) for each in rows])
    keys = pa.array([column.name for column in columns], pa.string()).take(pa.array(names[order]))
    values = [column_array(column).drop_null() for column in columns]
    children = [
        pa.concat_arrays(
            [
                value if column.kind is wanted else pa.nulls(len(value), FIELDS[wanted][1])
                for column, value in zip(columns, values, strict=True)
            ]
        ).take(pa.array(order))
        for wanted in FIELDS
    ]
    items = pa.StructArray.from_arrays(children, fields=list(kind.item_type))
    counts = np.bincount(owner, minlength=len(frame))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(offsets), keys, items).cast(kind)


def _no_items(kind: pa.MapType) -> pa.Array:
    return pa.array([], kind.item_type)


def _rows_of(column: Column, count: int) -> Array:
    """The rows that have a value in a column."""
    return np.arange(count) if column.present is None else np.flatnonzero(column.present)


def attribute_arrays(maps: pa.MapArray) -> list[tuple[str, AttributeType, pa.Array]]:
    """Each attribute of each type that occurs, as a column with null where a row lacks it.

    Raises ``NotOneValue`` for an attribute with several values, or none.
    """
    offsets = np.asarray(maps.offsets)
    # A slice keeps all entries of the array that it is cut from.
    keys = maps.keys[offsets[0] : offsets[-1]]
    items = maps.items[offsets[0] : offsets[-1]]
    owner = np.repeat(np.arange(len(maps)), np.diff(offsets))
    children = {kind: pc.struct_field(items, name) for kind, (name, _) in FIELDS.items()}
    _check_one_value(keys, items, children)
    encoded = keys.dictionary_encode()
    codes = np.asarray(encoded.indices)
    found: list[tuple[str, AttributeType, pa.Array]] = []
    for code, name in enumerate(encoded.dictionary.to_pylist()):
        own = np.flatnonzero(codes == code)
        for kind, child in children.items():
            values = child.take(pa.array(own))
            rows = owner[own[np.asarray(values.is_valid())]]
            if len(rows):
                found.append((name, kind, _placed(values.drop_null(), rows, len(maps))))
    return found


def _placed(values: pa.Array, rows: Array, count: int) -> pa.Array:
    """A column with these values in these rows, and null elsewhere."""
    place = np.full(count, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return values.take(pa.array(place, mask=place < 0))


def _check_one_value(
    keys: pa.Array, items: pa.StructArray, children: dict[AttributeType, pa.Array]
) -> None:
    counts = np.zeros(len(keys), dtype=np.int64)
    for child in children.values():
        counts += np.asarray(child.is_valid())
    # An attribute whose whole structure is null is one that the message lacks.
    wrong = np.flatnonzero((counts != 1) & np.asarray(items.is_valid()))
    if len(wrong):
        name, count = keys[int(wrong[0])].as_py(), int(counts[wrong[0]])
        raise NotOneValue(
            f"attribute {name!r} has {count} values; set exactly one of the fields "
            f"{', '.join(field for field, _ in FIELDS.values())}"
        )

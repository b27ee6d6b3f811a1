"""Attributes of every type in one column, and back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.spark.schema import TYPED_MAP, check_sink_schema, check_source_schema, default_schema
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.sink.rows import batch_of
from penstock.spark.typed_map import NotOneValue, attribute_arrays

TICK = 1_700_000_000_000_000_000
SCHEMA = default_schema("*")
KIND = to_arrow_schema(SCHEMA, timezone="UTC").field("attributes").type
FIELD_OF = {str: "string", int: "int", float: "float", bool: "bool", bytes: "bytes"}

VALUES = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.booleans(),
    st.binary(max_size=5),
)
MESSAGES = st.lists(
    st.tuples(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4), st.binary(max_size=4)),
    max_size=20,
)


def arrow_of(rows: list[tuple[dict[str, Any], bytes]]) -> pa.RecordBatch:
    """The rows as Spark gets them, as two frames."""
    cut = len(rows) // 2
    frames = [
        Frame(TICK, TICK + 99, range(TICK, TICK + len(part)), Batch.from_rows(part))
        for part in (rows[:cut], rows[cut:])
    ]
    return ArrowRows(SCHEMA, null_on_mismatch=False).of_frames("p", frames)


def only_value(entry: dict[str, Any]) -> Any:
    (value,) = [value for value in entry.values() if value is not None]
    return value


@settings(deadline=None)
@given(MESSAGES)
def test_every_attribute_keeps_its_type(rows: list[tuple[dict[str, Any], bytes]]) -> None:
    column = arrow_of(rows).column("attributes").to_pylist()
    for entries, (attributes, _) in zip(column, rows, strict=True):
        assert [name for name, _ in entries] == sorted(attributes)
        for name, entry in entries:
            value = attributes[name]
            assert entry[FIELD_OF[type(value)]] == value
            assert type(only_value(entry)) is type(value)


@settings(deadline=None)
@given(MESSAGES, st.integers(0, 5))
def test_what_was_read_is_written_back_unchanged(
    rows: list[tuple[dict[str, Any], bytes]], start: int
) -> None:
    read = arrow_of(rows).slice(start).select(["payload", "attributes"])
    written = batch_of(read)
    expected = [attributes for attributes, _ in rows[start:]]
    assert written.attribute_rows() == expected
    kinds = [[type(value) for value in row.values()] for row in written.attribute_rows()]
    wanted = [[type(row[name]) for name in sorted(row)] for row in expected]
    assert [sorted(map(str, each)) for each in kinds] == [sorted(map(str, each)) for each in wanted]


def test_rows_and_values_that_are_null_have_no_attributes() -> None:
    value = {"string": None, "int": 7, "float": None, "bool": None, "bytes": None}
    maps = pa.array([None, [], [("a", value), ("b", None)]], KIND)
    ((name, _, column),) = attribute_arrays(maps)
    assert (name, column.to_pylist()) == ("a", [None, None, 7])


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"string": None, "int": None, "float": None, "bool": None, "bytes": None}, 0),
        ({"string": "x", "int": 7, "float": None, "bool": None, "bytes": None}, 2),
    ],
)
def test_an_attribute_has_one_value(value: dict[str, Any], count: int) -> None:
    with pytest.raises(NotOneValue, match=f"attribute 'a' has {count} values; set exactly one"):
        attribute_arrays(pa.array([[("a", value)]], KIND))


def test_the_column_is_accepted_by_source_and_sink() -> None:
    assert SCHEMA["attributes"].dataType == TYPED_MAP
    assert check_source_schema(SCHEMA) == SCHEMA
    written = SCHEMA.__class__([SCHEMA["payload"], SCHEMA["attributes"]])
    assert check_sink_schema(written, map_as_text=False) == written

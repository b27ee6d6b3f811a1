from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.spark.schema import default_schema
from penstock.spark.schema_columns import ArrowRows, TypeMismatch
from penstock.spark.sink.rows import MAX_ROWS, batch_of, batches_of

TICK = 1_700_000_000_000_000_000
TYPES = {"s": "string", "i": "bigint", "f": "double", "b": "boolean", "r": "binary"}
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "s": st.text(st.characters(exclude_categories=("Cs",)), max_size=5),
    "i": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(allow_nan=False),
    "b": st.booleans(),
    "r": st.binary(max_size=5),
}
MESSAGES = st.lists(
    st.tuples(
        st.fixed_dictionaries({}, optional=VALUES),
        st.binary(max_size=10),
    ),
    max_size=30,
)


def frame_of(rows: list[tuple[dict[str, Any], bytes]]) -> Frame:
    batch = Batch.from_rows(rows)
    return Frame(TICK - 5, TICK + len(rows), range(TICK, TICK + len(rows)), batch)


def arrow(attributes: str, *, null_on_mismatch: bool = False) -> ArrowRows:
    return ArrowRows(default_schema(attributes), null_on_mismatch=null_on_mismatch)


ALL_TYPES = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())


@settings(deadline=None)
@given(MESSAGES)
def test_every_value_arrives_and_absent_ones_are_null(
    rows: list[tuple[dict[str, Any], bytes]],
) -> None:
    made = arrow(ALL_TYPES).of_frames("p", [frame_of(rows)]).to_pylist()
    for number, (row, (attributes, payload)) in enumerate(zip(made, rows, strict=True)):
        assert row == {
            "pubend": "p",
            "tick": TICK + number,
            "time": datetime.fromtimestamp(TICK // 10**9, UTC),
            "payload": payload,
            **{name: attributes.get(name) for name in TYPES},
        }


@settings(deadline=None)
@given(MESSAGES)
def test_written_rows_are_read_back(rows: list[tuple[dict[str, Any], bytes]]) -> None:
    read = arrow(ALL_TYPES).of_frames("p", [frame_of(rows)])
    written = batch_of(read.drop_columns(["pubend", "tick", "time"]))
    assert written.has_same_rows(Batch.from_rows(rows))


def test_the_map_holds_all_attributes_as_text() -> None:
    rows = [({"s": "x", "i": 1, "f": 0.5, "b": True, "r": b"\x01"}, b""), ({}, b"")]
    made = arrow("").of_frames("p", [frame_of(rows)]).to_pylist()
    assert [dict(row["attributes"]) for row in made] == [
        {"s": "x", "i": "1", "f": "0.5", "b": "true", "r": "01"},
        {},
    ]


def test_an_integer_is_a_number_in_a_double_column() -> None:
    rows = [({"f": 1}, b""), ({"f": 2.5}, b""), ({}, b"")]
    made = arrow("f double").of_frames("p", [frame_of(rows)]).to_pylist()
    assert [row["f"] for row in made] == [1.0, 2.5, None]


def test_a_type_mismatch_is_an_error_that_names_the_tick() -> None:
    frame = frame_of([({"i": 1}, b""), ({"i": "one"}, b"")])
    with pytest.raises(TypeMismatch, match=f"pubend 'p', tick {TICK + 1}: attribute 'i' has type"):
        arrow("i bigint").of_frames("p", [frame])
    made = arrow("i bigint", null_on_mismatch=True).of_frames("p", [frame]).to_pylist()
    assert [row["i"] for row in made] == [1, None]


def test_large_record_batches_are_written_in_pieces() -> None:
    rows = [({"i": number}, b"") for number in range(2 * MAX_ROWS + 1)]
    record_batch = arrow("i bigint").of_frames("p", [frame_of(rows)])
    parts = batches_of(record_batch.select(["payload", "i"]))
    assert all(len(part) <= MAX_ROWS for part in parts)
    assert [row["i"] for part in parts for row in part.attribute_rows()] == list(range(len(rows)))
    assert batches_of(record_batch.slice(0, 0)) == []


@settings(deadline=None)
@given(MESSAGES, st.lists(st.integers(0, 30), max_size=3))
def test_rows_in_several_frames_are_the_same_rows(
    rows: list[tuple[dict[str, Any], bytes]], cuts: list[int]
) -> None:
    whole = frame_of(rows)
    bounds = sorted({whole.low, whole.high, *(min(TICK + cut, whole.high) for cut in cuts)})
    parts = [whole.slice(low, high) for low, high in pairwise(bounds)]
    for attributes in (ALL_TYPES, ""):
        made = arrow(attributes)
        assert made.of_frames("p", parts).equals(made.of_frames("p", [whole]))

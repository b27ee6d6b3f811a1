"""Batches against the list of rows that they were built from."""

from __future__ import annotations

import itertools
import mmap
import struct
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import FEW_ROWS, KEPT_SHARE, Batch, Row
from penstock.content.rows.block import BlockTooLarge
from penstock.content.rows.columns import (
    INTEGER_MAX,
    INTEGER_MIN,
    AttributeType,
    AttributeValue,
    InvalidAttribute,
)

moderate = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])

values = st.one_of(
    st.text(max_size=8),
    st.sampled_from(["", "é", "日本語", "\x00", "😀"]),
    st.integers(INTEGER_MIN, INTEGER_MAX),
    st.sampled_from([INTEGER_MIN, INTEGER_MAX, -1, 0]),
    st.floats(),
    st.booleans(),
    st.binary(max_size=8),
)
names = st.sampled_from(["topic", "price", "size", ""]) | st.text(max_size=4)
rows_of_batches = st.lists(
    st.tuples(st.dictionaries(names, values, max_size=4), st.binary(max_size=12)), max_size=12
)
many_rows = st.integers(FEW_ROWS + 1, 4 * FEW_ROWS).flatmap(
    lambda count: st.lists(
        st.tuples(
            st.fixed_dictionaries(
                {"topic": st.sampled_from(["a", "b", "c"])}, optional={"n": st.integers(0, 9)}
            ),
            st.sampled_from([b"", b"x", b"payload"]),
        ),
        min_size=count,
        max_size=count,
    )
)


def bits(value: AttributeValue) -> tuple[str, object]:
    """A value with its type, and a float by its bits: NaN equals itself, -0.0 is not 0.0."""
    shown = struct.pack("<d", value) if isinstance(value, float) else value
    return type(value).__name__, shown


def seen(attributes: Mapping[str, AttributeValue]) -> dict[str, tuple[str, object]]:
    return {name: bits(value) for name, value in attributes.items()}


def shown(rows: Sequence[Row]) -> list[tuple[dict[str, tuple[str, object]], bytes]]:
    return [(seen(attributes), bytes(payload)) for attributes, payload in rows]


def read(batch: Batch) -> list[tuple[dict[str, tuple[str, object]], bytes]]:
    """All rows, read both by column and by row, which must agree."""
    by_column = list(zip(batch.attribute_rows(), batch.payload_rows(), strict=True))
    by_row = [(batch.attributes(row), bytes(batch.payload(row))) for row in range(len(batch))]
    assert shown(by_column) == shown(by_row)
    return shown(by_column)


@moderate
@given(rows_of_batches)
def test_rows_survive_the_way_through_columns_and_bytes(rows: list[Row]) -> None:
    batch = Batch.from_rows(rows)
    assert len(batch) == len(rows)
    assert read(batch) == shown(rows)
    decoded = Batch.decode(batch.encode())
    decoded.validate()
    assert len(decoded) == len(rows)
    assert read(decoded) == shown(rows)
    assert decoded.has_same_rows(batch)


@moderate
@given(rows_of_batches)
def test_the_size_is_known_before_encoding(rows: list[Row]) -> None:
    batch = Batch.from_rows(rows)
    announced = batch.wire_size
    assert announced == len(batch.encode())
    assert Batch.decode(batch.encode()).wire_size == announced


@moderate
@given(rows_of_batches)
def test_columns_are_sorted_and_no_row_has_one_name_twice(rows: list[Row]) -> None:
    for batch in (Batch.from_rows(rows), Batch.decode(Batch.from_rows(rows).encode())):
        keys = [(column.name, column.kind) for column in batch.columns]
        assert keys == sorted(set(keys))
        for _, group in itertools.groupby(batch.columns, key=lambda column: column.name):
            holders = np.zeros(len(batch), dtype=np.int64)
            for column in group:
                holders += 1 if column.present is None else column.present
            assert (holders <= 1).all()


@moderate
@given(st.one_of(rows_of_batches, many_rows), st.data(), st.booleans())
def test_taking_rows_is_taking_items_of_the_list(
    rows: list[Row], data: st.DataObject, from_wire: bool
) -> None:
    batch = Batch.from_rows(rows)
    if from_wire:
        batch = Batch.decode(batch.encode())
    chosen = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    expected = shown([row for row, wanted in zip(rows, chosen, strict=True) if wanted])
    mask = np.array(chosen, dtype=np.bool_)
    for taken in (batch.take(mask), batch.take(np.flatnonzero(mask))):
        assert read(taken) == expected
        announced = taken.wire_size
        assert len(taken.encode()) == announced
        again = Batch.decode(taken.encode())
        again.validate()
        assert read(again) == expected


@moderate
@given(many_rows, st.data())
def test_taking_from_what_was_taken_composes(rows: list[Row], data: st.DataObject) -> None:
    batch = Batch.from_rows(rows)
    first = sorted(data.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1)))
    second = sorted(data.draw(st.sets(st.integers(0, len(first) - 1))))
    twice = batch.take(np.array(first)).take(np.array(second, dtype=np.int64))
    once = batch.take(np.array([first[place] for place in second], dtype=np.int64))
    assert read(twice) == read(once)
    assert twice.has_same_rows(once)


@moderate
@given(rows_of_batches, st.data())
def test_a_slice_is_a_slice(rows: list[Row], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    assert read(Batch.from_rows(rows).slice(start, stop)) == shown(rows[start:stop])


def test_slices_of_slices_hold_on_to_little_more_than_they_weigh() -> None:
    batch = Batch.from_rows([({}, bytes(100))] * 64)
    while len(batch) > 1:
        batch = batch.slice(0, len(batch) // 2 + 1 if len(batch) > 2 else 1)
        payloads = memoryview(batch.payloads[1])
        held = memoryview(payloads.obj).nbytes
        assert held <= KEPT_SHARE * len(payloads)


def test_taking_all_rows_copies_nothing() -> None:
    batch = Batch.from_rows([({"a": 1}, b"x"), ({"a": 2}, b"y")])
    assert batch.take(np.array([True, True])) is batch
    assert batch.slice(0, 2) is batch


@pytest.mark.parametrize("count", [1, FEW_ROWS, FEW_ROWS + 1, 200])
def test_empty_payloads_can_be_taken_in_any_number(count: int) -> None:
    batch = Batch.from_rows([({"a": row}, b"") for row in range(201)])
    taken = batch.take(np.arange(count))
    assert taken.payload_rows() == [b""] * count
    assert read(Batch.decode(taken.encode())) == read(taken)


def test_a_mask_of_another_length_is_refused() -> None:
    batch = Batch.from_rows([({}, b"x"), ({}, b"y")])
    for length in (1, 3):
        with pytest.raises(IndexError, match=f"mask of {length} rows for a batch of 2"):
            batch.take(np.ones(length, dtype=np.bool_))


def test_a_row_that_does_not_exist_is_refused() -> None:
    batch = Batch.from_rows([({}, b"x"), ({}, b"y")])
    for row in (-1, 2):
        with pytest.raises(IndexError, match=f"row {row} of a batch of 2"):
            batch.payload(row)
        with pytest.raises(IndexError, match=f"row {row} of a batch of 2"):
            batch.attributes(row)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_what_came_from_the_wire_is_forwarded_untouched(kind: type) -> None:
    data = kind(Batch.from_rows([({"a": "x"}, b"1"), ({}, b"2")]).encode())
    batch = Batch.decode(data)
    batch.validate()
    assert batch.encode() is data
    assert batch.wire_size == len(data)


def test_a_batch_is_encoded_once() -> None:
    batch = Batch.from_rows([({"a": "x"}, b"1")])
    assert batch.encode() is batch.encode()


def test_reading_copies_no_payload() -> None:
    data = bytearray(Batch.from_rows([({}, b"before")]).encode())
    batch = Batch.decode(data)
    view = batch.payload(0)
    data[-8:-2] = b"after!"
    assert bytes(view) == b"after!"


@pytest.mark.parametrize("shift", range(1, 8))
def test_a_block_may_lie_anywhere_in_a_receive_buffer(shift: int) -> None:
    rows: list[Row] = [({"s": f"v{row}", "f": row / 3, "i": row}, b"p" * row) for row in range(40)]
    data = bytes(Batch.from_rows(rows).encode())
    received = bytearray(shift) + data + bytes(16)
    batch = Batch.decode(memoryview(received)[shift : shift + len(data)])
    assert read(batch) == shown(rows)
    assert read(batch.take(np.arange(0, 40, 2))) == shown(rows[::2])


def test_an_empty_batch_is_a_batch() -> None:
    batch = Batch.from_rows([])
    assert len(batch) == 0
    assert batch.columns == ()
    assert batch.attribute_rows() == []
    assert batch.payload_rows() == []
    assert len(Batch.decode(batch.encode())) == 0
    assert batch.has_same_rows(Batch.from_rows([({"a": 1}, b"x")]).slice(0, 0))


def test_an_attribute_that_is_none_is_absent() -> None:
    rows: list[Any] = [({"a": None}, b""), ({"a": 0}, b""), ({}, b"")]
    batch = Batch.from_rows(rows)
    assert batch.attribute_rows() == [{}, {"a": 0}, {}]


def test_one_name_may_have_every_type() -> None:
    each: list[AttributeValue] = ["x", 1, 1.5, True, b"x"]
    batch = Batch.from_rows([({"a": value}, b"") for value in each])
    assert [column.kind for column in batch.columns] == list(AttributeType)
    assert [row["a"] for row in batch.attribute_rows()] == each


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({"good": 1, "bad": [1]}, "attribute 'bad' has a value of type list"),
        ({"good": 1, "bad": 2**63}, "attribute 'bad'.*64-bit"),
        ({"good": 1, "bad": "\ud800"}, "attribute 'bad'.*Unicode"),
        ({"good": 1, 5: 1}, "name 5 is not a string"),
        ({"good": 1, "\ud800": 1}, "name .*Unicode"),
    ],
)
def test_an_attribute_that_cannot_be_carried_is_named(
    attributes: dict[str, AttributeValue], why: str
) -> None:
    followers: list[list[Row]] = [[], [({}, b"")], [({"good": 2}, b"")]]
    for others in followers:
        with pytest.raises(InvalidAttribute, match=why):
            Batch.from_rows([(attributes, b""), *others])


def test_a_payload_must_be_bytes() -> None:
    with pytest.raises(TypeError, match="str found"):
        Batch.from_rows([({}, "text")])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="cast its memoryview to bytes"):
        Batch.from_rows([({}, memoryview(array("i", [1, 2, 3])))])


def test_payloads_beyond_31_bits_are_refused_before_they_are_joined() -> None:
    with (
        mmap.mmap(-1, 2**30) as region,
        memoryview(region) as gibibyte,
        pytest.raises(BlockTooLarge, match=r"payloads are too long together.*fewer rows"),
    ):
        Batch.from_rows([({}, gibibyte), ({}, gibibyte)])


def test_a_batch_shows_its_shape() -> None:
    assert repr(Batch.from_rows([({"b": 1, "a": 2}, b"")])) == "Batch(1 rows, ['a', 'b'])"


@moderate
@given(many_rows, st.data())
def test_the_same_rows_are_the_same_whatever_their_dictionaries(
    rows: list[Row], data: st.DataObject
) -> None:
    stop = data.draw(st.integers(0, len(rows)))
    assert Batch.from_rows(rows).slice(0, stop).has_same_rows(Batch.from_rows(rows[:stop]))


ALIKE_IN_PYTHON: list[AttributeValue] = [1, 1.0, True, 0, 0.0, -0.0, False, "", b"", "1", b"1"]


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(ALIKE_IN_PYTHON, 2)))
def test_rows_differ_by_type_and_by_bits(one: AttributeValue, other: AttributeValue) -> None:
    assert not Batch.from_rows([({"a": one}, b"")]).has_same_rows(
        Batch.from_rows([({"a": other}, b"")])
    )


def test_rows_differ_by_payload_by_absence_and_by_number() -> None:
    batch = Batch.from_rows([({"a": 1}, b"x")])
    assert batch.has_same_rows(Batch.from_rows([({"a": 1}, b"x")]))
    assert not batch.has_same_rows(Batch.from_rows([({"a": 1}, b"y")]))
    assert not batch.has_same_rows(Batch.from_rows([({}, b"x")]))
    assert not batch.has_same_rows(Batch.from_rows([({"b": 1}, b"x")]))
    assert not batch.has_same_rows(Batch.from_rows([({"a": 1}, b"x")] * 2))


def test_not_a_number_is_the_same_row_as_itself() -> None:
    batch = Batch.from_rows([({"a": float("nan")}, b"")])
    assert batch.has_same_rows(Batch.decode(batch.encode()))

"""Columns of one attribute: types, absences, dictionaries, and what cannot be carried."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.rows.columns import (
    INTEGER_MAX,
    INTEGER_MIN,
    AttributeType,
    AttributeValue,
    Dictionary,
    InvalidAttribute,
    code_dtype,
    columns_from_attributes,
    is_dictionary_encoded,
    offsets_of,
    sorted_names,
)
from penstock.content.rows.layout import MAX_NAME_BYTES

moderate = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

finite_values = st.one_of(
    st.text(max_size=6),
    st.integers(INTEGER_MIN, INTEGER_MAX),
    st.floats(allow_nan=False),
    st.booleans(),
    st.binary(max_size=6),
)
value_lists = st.lists(st.none() | finite_values, min_size=1, max_size=30)


def typed(value: AttributeValue | None) -> tuple[type, AttributeValue | None]:
    """1, 1.0 and True are equal in Python and are not the same attribute."""
    return type(value), value


@moderate
@given(value_lists)
def test_columns_hold_each_value_once_under_its_own_type(
    values: list[AttributeValue | None],
) -> None:
    columns = columns_from_attributes("a", values)
    assert sorted(column.kind for column in columns) == sorted(
        {kind for kind, types in KINDS.items() for value in values if type(value) is types}
    )
    for row, value in enumerate(values):
        found = [each for each in (column.value(row) for column in columns) if each is not None]
        assert list(map(typed, found)) == ([] if value is None else [typed(value)])
    for column in columns:
        assert column.name == "a"
        assert column.values_list() == [column.value(row) for row in range(len(values))]


KINDS = {
    AttributeType.STRING: str,
    AttributeType.INT: int,
    AttributeType.FLOAT: float,
    AttributeType.BOOL: bool,
    AttributeType.BYTES: bytes,
}


@moderate
@given(value_lists, st.data())
def test_taking_rows_is_taking_items_of_the_list(
    values: list[AttributeValue | None], data: st.DataObject
) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, len(values) - 1))))
    for column in columns_from_attributes("a", values):
        expected = [column.value(row) for row in chosen]
        taken = column.take(np.array(chosen, dtype=np.int64))
        if taken is None:
            assert all(value is None for value in expected)
            continue
        assert taken.values_list() == expected
        assert (taken.present is None) == (None not in expected)
        if taken.dictionary is not None:
            assert len(taken.dictionary) <= max(len(column.dictionary or ()), len(chosen))


def test_a_column_without_absences_has_no_presence() -> None:
    (column,) = columns_from_attributes("a", [1, 2, 3])
    assert column.present is None
    (column,) = columns_from_attributes("a", [1, None, 3])
    assert column.present is not None
    assert column.present.tolist() == [True, False, True]


def test_absent_is_neither_zero_nor_empty() -> None:
    for value in (0, 0.0, False, "", b""):
        (column,) = columns_from_attributes("a", [value, None])
        assert column.values_list() == [value, None]
        assert type(column.value(0)) is type(value)
        assert column.value(1) is None


def test_nobody_having_the_attribute_gives_no_column() -> None:
    assert columns_from_attributes("a", [None, None]) == []
    assert columns_from_attributes("a", []) == []


def test_distinct_values_stand_once_in_the_order_of_their_first_row() -> None:
    (column,) = columns_from_attributes("a", ["b", "a", "b", "c", "a"])
    assert column.dictionary == ("b", "a", "c")
    assert column.values.tolist() == [0, 1, 0, 2, 1]


def test_taking_few_rows_forgets_the_values_that_no_row_uses() -> None:
    (column,) = columns_from_attributes("a", [str(number) for number in range(300)])
    assert column.values.dtype == np.dtype("<u2")
    taken = column.take(np.array([7, 299]))
    assert taken is not None
    assert taken.dictionary == ("7", "299")
    assert taken.values.dtype == np.dtype("<u1")


@pytest.mark.parametrize(
    ("entries", "width"),
    [(0, 1), (1, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 4), (2**32 - 1, 4)],
)
def test_codes_are_as_narrow_as_the_dictionary_allows(entries: int, width: int) -> None:
    assert code_dtype(entries).itemsize == width


@pytest.mark.parametrize("distinct", [255, 256, 257, 65_536, 65_537])
def test_every_code_names_its_value_at_the_edges_of_the_widths(distinct: int) -> None:
    values = [f"v{number}" for number in range(distinct)]
    (column,) = columns_from_attributes("a", values)
    assert column.values_list() == values


def test_only_strings_and_bytes_have_dictionaries() -> None:
    coded = [kind for kind in AttributeType if is_dictionary_encoded(kind)]
    assert coded == [AttributeType.STRING, AttributeType.BYTES]
    (numbers,) = columns_from_attributes("a", [1])
    assert numbers.dictionary is None
    assert numbers.encoded_dictionary is None


@moderate
@given(st.lists(st.text(max_size=5), unique=True))
def test_a_text_dictionary_read_from_its_bytes_gives_its_values(values: list[str]) -> None:
    built = Dictionary.of(values, text=True)
    assert len(built) == len(values)
    read = Dictionary(built.offsets, built.data, text=True)
    assert read.values == tuple(values)
    assert read.values is read.values


@moderate
@given(st.lists(st.binary(max_size=5), unique=True))
def test_a_bytes_dictionary_read_from_its_bytes_gives_its_values(values: list[bytes]) -> None:
    built = Dictionary.of(values, text=False)
    read = Dictionary(built.offsets, memoryview(built.data), text=False)
    assert read.values == tuple(values)


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (int, "type"),
        ([1], "list"),
        ({}, "dict"),
        (1j, "complex"),
        (bytearray(b"x"), "bytearray"),
        (np.int64(1), "int64"),
        (np.float64(1), "float64"),
        (Colour.RED, "Colour"),
    ],
)
@pytest.mark.parametrize("others", [[], [None], [1], ["s", None]])
def test_a_value_of_another_type_is_refused_by_name(
    value: object, named: str, others: list[object]
) -> None:
    with pytest.raises(InvalidAttribute, match=rf"'price'.*type {named}; use str, int"):
        columns_from_attributes("price", [value, *others])


@pytest.mark.parametrize("value", [INTEGER_MAX + 1, INTEGER_MIN - 1, 10**40])
@pytest.mark.parametrize("others", [[], [None], [1]])
def test_an_integer_beyond_64_bits_is_refused_by_name(value: int, others: list[object]) -> None:
    with pytest.raises(InvalidAttribute, match=r"'price'.*64-bit"):
        columns_from_attributes("price", [value, *others])


def test_the_edges_of_64_bits_are_carried() -> None:
    (column,) = columns_from_attributes("a", [INTEGER_MIN, INTEGER_MAX, -1, 0])
    assert column.values_list() == [INTEGER_MIN, INTEGER_MAX, -1, 0]


def test_half_of_a_surrogate_pair_is_refused_by_name() -> None:
    with pytest.raises(InvalidAttribute, match=r"'city'.*not valid Unicode"):
        columns_from_attributes("city", ["ok", "\ud800"])


def test_names_come_in_the_order_of_columns() -> None:
    assert sorted_names(["b", "a", "é", ""]) == ["", "a", "b", "é"]
    assert sorted_names([]) == []
    longest = "n" * MAX_NAME_BYTES
    assert sorted_names([longest]) == [longest]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (7, r"name 7 is not a string"),
        ("\udfff", r"not valid Unicode"),
        ("n" * (MAX_NAME_BYTES + 1), r"name 'nnnn.*has 65536 bytes; at most 65535"),
        ("é" * 40_000, r"has 80000 bytes"),
    ],
)
def test_a_name_that_no_block_can_carry_is_refused(name: object, why: str) -> None:
    with pytest.raises(InvalidAttribute, match=why):
        sorted_names(["good", name])  # type: ignore[list-item]


def test_offsets_are_the_running_sum_of_lengths() -> None:
    assert offsets_of([b"", b"ab", b"", b"c"]).tolist() == [0, 0, 2, 2, 3]
    assert offsets_of([]).tolist() == [0]


def test_offsets_beyond_31_bits_are_refused_before_anything_is_joined() -> None:
    chunk = bytes(2**26)
    with pytest.raises(OverflowError, match=r"2214592512 bytes.*at most 2147483647"):
        Dictionary.of([chunk] * 33, text=False)

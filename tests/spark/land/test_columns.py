"""Which column holds an attribute."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.columns import AttributeType
from penstock.spark.land import columns as columns_module
from penstock.spark.land.columns import FIXED, AttributeColumn, Columns, columns_of, declare
from penstock.spark.schema import SchemaMismatch

INT, FLOAT, STRING = AttributeType.INT, AttributeType.FLOAT, AttributeType.STRING


def names(*meanings: tuple[str, AttributeType]) -> list[str]:
    columns = Columns()
    found = [columns.of(attribute, kind) for attribute, kind in meanings]
    return [each.column for each in found if each is not None]


def test_the_first_type_has_the_attributes_name() -> None:
    assert names(("price", FLOAT), ("price", STRING), ("price", FLOAT)) == [
        "price",
        "price_string",
        "price",
    ]


def test_names_that_are_taken_or_not_allowed_are_changed() -> None:
    assert names(("tick", INT), ("Price", INT), ("price", INT), ("a b", INT), ("a,b", INT)) == [
        "tick_int",
        "Price",
        "price_int",
        "a_b",
        "a_b_int",
    ]
    assert names(("x_int", INT), ("x", FLOAT), ("x", INT), ("", STRING)) == [
        "x_int",
        "x",
        "x_int_2",
        "_",
    ]


@given(st.lists(st.tuples(st.text(max_size=3), st.sampled_from(AttributeType)), max_size=20))
def test_no_two_meanings_share_a_column_and_the_schema_keeps_them(
    meanings: list[tuple[str, AttributeType]],
) -> None:
    columns = Columns()
    for attribute, kind in meanings:
        assert columns.of(attribute, kind) == columns.of(attribute, kind)
    used = [each.column.casefold() for each in columns.all()]
    assert len(set(used)) == len(used) == len(set(meanings))
    assert not set(used) & set(FIXED.names)
    schema = pa.schema([*FIXED, *(each.arrow for each in columns.all())])
    assert columns_of(schema).all() == columns.all()


def test_columns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_module, "MOST_COLUMNS", 2)
    columns = Columns()
    assert [columns.of(name, INT) is not None for name in "abca"] == [True, True, False, True]
    assert columns.is_full


def test_columns_are_declared_once() -> None:
    (added,) = declare("price double", FIXED)
    assert (added.name, added.type) == ("price", pa.float64())
    schema = pa.schema([*FIXED, added])
    assert [field.name for field in declare("price double, symbol string", schema)] == ["symbol"]
    assert columns_of(schema).first_with_numbers("price") == AttributeColumn(
        "price", "price", FLOAT
    )
    assert declare("", FIXED) == []
    with pytest.raises(SchemaMismatch, match="'price text' is not a column name with a type"):
        declare("price text", FIXED)

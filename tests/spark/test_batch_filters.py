from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import datasource as spark

from penstock.content.batch import Batch
from penstock.content.parser import parse
from penstock.content.selector_index import SelectorIndex
from penstock.core.clock import SECOND
from penstock.spark.batch_filters import Narrowing, condition_of, narrowing_of
from penstock.spark.schema import default_schema

SCHEMA = default_schema("s string, i bigint, f double, b boolean")


def test_predicates_become_conditions() -> None:
    narrowing = narrowing_of(
        [
            spark.IsNotNull(("i",)),
            spark.GreaterThan(("i",), 3),
            spark.EqualTo(("s",), "it's"),
            spark.In(("s",), ("a", "b")),
            spark.StringStartsWith(("s",), "50%_"),
            spark.Not(spark.EqualTo(("i",), 7)),
        ],
        SCHEMA,
    )
    assert narrowing.conditions == (
        "i IS NOT NULL",
        "i > 3",
        "s = 'it''s'",
        "s = 'a' OR s = 'b'",
        "s LIKE '50\\%\\_%' ESCAPE '\\'",
        "i <> 7",
    )
    parse(narrowing.and_also("f > 0"))


@pytest.mark.parametrize(
    "each",
    [
        spark.LessThan(("s",), "m"),
        spark.EqualTo(("s", "inner"), 1),
        spark.EqualNullSafe(("i",), 1),
        spark.In(("s",), (None, "a")),
        spark.EqualTo(("f",), float("nan")),
        spark.Not(spark.EqualTo(("f",), 1.0)),
        spark.Not(spark.GreaterThan(("i",), 1)),
        spark.EqualTo(("payload",), b"x"),
    ],
)
def test_what_cannot_be_said_is_left_to_spark(each: spark.Filter) -> None:
    assert narrowing_of([each], SCHEMA) == Narrowing()


def test_ticks_and_times_narrow_the_interval() -> None:
    moment = datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC)
    assert narrowing_of([spark.GreaterThanOrEqual(("tick",), 5)], SCHEMA) == Narrowing(low=5)
    assert narrowing_of([spark.GreaterThan(("tick",), 5)], SCHEMA) == Narrowing(low=6)
    assert narrowing_of([spark.LessThan(("tick",), 5)], SCHEMA) == Narrowing(high=5)
    equal = narrowing_of([spark.EqualTo(("time",), moment)], SCHEMA)
    assert equal == Narrowing(low=5 * SECOND, high=5 * SECOND + 1000)
    after = narrowing_of([spark.GreaterThan(("time",), moment)], SCHEMA)
    assert after == Narrowing(low=5 * SECOND + 1000)


def test_pubends_are_chosen() -> None:
    narrowing = narrowing_of(
        [spark.In(("pubend",), ("p", "q")), spark.EqualTo(("pubend",), "p")], SCHEMA
    )
    assert [narrowing.admits(pubend) for pubend in "pqr"] == [True, False, False]
    assert Narrowing().admits("anything")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "s": st.sampled_from(["", "a", "ab", "b%", "_", "it's", "\\"]),
    "i": st.integers(-3, 3),
    "f": st.sampled_from([-1.5, 0.0, 1.0, 2.5]),
    "b": st.booleans(),
}
COMPARISONS = [
    spark.EqualTo,
    spark.GreaterThan,
    spark.GreaterThanOrEqual,
    spark.LessThan,
    spark.LessThanOrEqual,
]


@st.composite
def predicates(draw: st.DrawFn) -> spark.Filter:
    name = draw(st.sampled_from(sorted(VALUES)))
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.sampled_from([spark.IsNull, spark.IsNotNull]))((name,))
    if kind == 1:
        return spark.In((name,), tuple(draw(st.lists(VALUES[name], max_size=3))))
    if kind == 2:
        contains = [spark.StringStartsWith, spark.StringEndsWith, spark.StringContains]
        return draw(st.sampled_from(contains))(("s",), draw(VALUES["s"]))
    made = draw(st.sampled_from(COMPARISONS))((name,), draw(VALUES[name]))
    return spark.Not(made) if kind == 3 else made


def holds(each: spark.Filter, row: dict[str, Any]) -> bool | None:
    """What Spark says of a row; None is unknown."""
    if isinstance(each, spark.Not):
        inner = holds(each.child, row)
        return None if inner is None else not inner
    value = row.get(each.attribute[0])  # type: ignore[attr-defined]
    if isinstance(each, spark.IsNull | spark.IsNotNull):
        return (value is None) == isinstance(each, spark.IsNull)
    if value is None:
        return None
    other = each.value  # type: ignore[attr-defined]
    match each:
        case spark.EqualTo():
            return value == other
        case spark.GreaterThan():
            return value > other
        case spark.GreaterThanOrEqual():
            return value >= other
        case spark.LessThan():
            return value < other
        case spark.LessThanOrEqual():
            return value <= other
        case spark.In():
            return value in other
        case spark.StringStartsWith():
            return value.startswith(other)
        case spark.StringEndsWith():
            return value.endswith(other)
        case spark.StringContains():
            return other in value
    raise AssertionError(each)


@settings(deadline=None, max_examples=200)
@given(predicates(), st.fixed_dictionaries({}, optional=VALUES))
def test_a_condition_never_drops_a_row_that_the_predicate_lets_through(
    each: spark.Filter, row: dict[str, Any]
) -> None:
    condition = condition_of(each, SCHEMA)
    if condition is None or holds(each, row) is not True:
        return
    index = SelectorIndex()
    index.add(0, parse(condition))
    matched = index.match_any(Batch.from_rows([(row, b"")]))
    assert matched is True or bool(matched is not False and list(matched))

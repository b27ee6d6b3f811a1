from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import datasource as spark

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.content.selectors.parser import parse
from penstock.core.clock import SECOND
from penstock.services.guaranteed.relay.tree_relay import filtered
from penstock.spark.schema import default_schema
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.source.batch_filters import Narrowing, condition_of, narrowing_of

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
        spark.IsNull(("i",)),
        spark.EqualTo(("f",), 2.0**53),
        spark.In(("f",), (1.0, float("inf"))),
    ],
)
def test_predicates_that_selectors_cannot_express_are_left_to_spark(each: spark.Filter) -> None:
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


VALUES: dict[str, tuple[Any, ...]] = {
    "s": ("", "a", "ab", "b%", "_", "it's", "\\"),
    "i": (-(2**63), -3, 0, 1, 2, 2**53, 2**53 + 1, 2**63 - 1),
    "f": (-1.5, -0.0, 0.0, 1.0, 2.5, 2.0**53, math.inf, -math.inf, math.nan),
    "b": (False, True),
}
EVERY_VALUE: tuple[Any, ...] = (*chain.from_iterable(VALUES.values()), b"", b"a")
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
    value = st.sampled_from(VALUES[name])
    kind = draw(st.integers(0, 5))
    if kind == 0:
        return draw(st.sampled_from([spark.IsNull, spark.IsNotNull]))((name,))
    if kind == 1:
        return spark.In((name,), tuple(draw(st.lists(value, max_size=3))))
    if kind == 2 and name == "s":
        contains = [spark.StringStartsWith, spark.StringEndsWith, spark.StringContains]
        return draw(st.sampled_from(contains))((name,), draw(value))
    made = draw(st.sampled_from(COMPARISONS))((name,), draw(value))
    return spark.Not(made) if kind == 3 else made


def messages_about(each: spark.Filter) -> list[dict[str, Any]]:
    """One message for each value of any type that the attribute may have, and one without it."""
    compared = each.child if isinstance(each, spark.Not) else each
    name = compared.attribute[0]  # type: ignore[attr-defined]
    return [{}, *({name: value} for value in EVERY_VALUE)]


def in_order(value: Any) -> tuple[bool, Any]:
    """Spark's order: NaN is equal to itself, and larger than every number."""
    return (True, 0) if value != value else (False, value)


def holds(each: spark.Filter, row: dict[str, Any]) -> bool | None:
    """Spark's result for a row; None means unknown."""
    if isinstance(each, spark.Not):
        inner = holds(each.child, row)
        return None if inner is None else not inner
    value = row.get(each.attribute[0])  # type: ignore[attr-defined]
    if isinstance(each, spark.IsNull | spark.IsNotNull):
        return (value is None) == isinstance(each, spark.IsNull)
    if value is None:
        return None
    other = each.value  # type: ignore[attr-defined]
    if isinstance(each, spark.In):
        return in_order(value) in map(in_order, other)
    if isinstance(each, (*COMPARISONS,)):
        value, other = in_order(value), in_order(other)
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
        case spark.StringStartsWith():
            return value.startswith(other)
        case spark.StringEndsWith():
            return value.endswith(other)
        case spark.StringContains():
            return other in value
    raise AssertionError(each)


@settings(deadline=None, max_examples=300)
@given(predicates())
def test_spark_accepts_the_same_rows_with_and_without_the_condition(
    each: spark.Filter,
) -> None:
    messages = messages_about(each)
    frame = Frame(
        0, len(messages), range(len(messages)), Batch.from_rows([(m, b"") for m in messages])
    )
    condition = condition_of(each, SCHEMA)
    narrowed = frame if condition is None else filtered(condition, frame)

    def let_through(read: Frame) -> list[int]:
        rows = ArrowRows(SCHEMA, null_on_mismatch=True).of_frames("p", [read]).to_pylist()
        return [row["tick"] for row in rows if holds(each, row)]

    assert let_through(narrowed) == let_through(frame)

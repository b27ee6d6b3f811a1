"""Converts the predicates that Spark pushes down to selectors and intervals.

1. A read may return more rows than a predicate accepts, never fewer: Spark evaluates every
   predicate again.  A predicate that a selector cannot express is therefore left out.
2. A comparison of an attribute column becomes a condition of the selector, which the brokers
   evaluate where the message is stored, so that rows that do not match are never sent.
3. A comparison of ``tick`` or ``time`` narrows the interval, one of ``pubend`` the pubends.
4. Where Spark and selectors differ, the condition accepts more.  In Spark NaN is larger than every
   number; in a selector it is neither larger nor smaller, so "larger" becomes "not smaller or
   equal".  A selector compares integers exactly, while a double column has rounded them, so numbers
   that are too large to be exact in a double are left out.  An attribute with another type than the
   column may be null in Spark (by option) and is present in a selector, so ``IS NULL`` is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from pyspark.sql import datasource as spark
from pyspark.sql.types import BooleanType, DataType, DoubleType, StringType, StructType

from penstock.core.clock import MICROSECOND, NEVER
from penstock.core.intervals import Tick
from penstock.spark.schema import ATTRIBUTES, MESSAGE_COLUMNS, PUBEND, TICK, TIME

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

_OPERATORS: Final[dict[type[spark.Filter], str]] = {
    spark.EqualTo: "=",
    spark.GreaterThan: ">",
    spark.GreaterThanOrEqual: ">=",
    spark.LessThan: "<",
    spark.LessThanOrEqual: "<=",
}

_COMPARISONS: Final = tuple(_OPERATORS)

_COMPLEMENTS: Final = {">": "<=", ">=": "<"}

_EXACT_IN_A_DOUBLE: Final = 2**53
"""Up to here every integer has an exact double."""


class Narrowing(msgspec.Struct, frozen=True):
    """An upper bound on the rows to read."""

    conditions: tuple[str, ...] = ()
    low: Tick = 0
    high: Tick = NEVER
    pubends: frozenset[str] | None = None

    def admits(self, pubend: str) -> bool:
        """Whether a pubend has to be read."""
        return self.pubends is None or pubend in self.pubends

    def and_also(self, selector: str) -> str:
        """The selector combined with the conditions found."""
        parts = [f"({part})" for part in (selector, *self.conditions) if part]
        return " AND ".join(parts)


def narrowing_of(filters: Iterable[spark.Filter], schema: StructType) -> Narrowing:
    """The narrowing that the conjunction of these predicates allows."""
    narrowing = Narrowing()
    for each in filters:
        compared = each.child if isinstance(each, spark.Not) else each
        path: tuple[str, ...] = getattr(compared, "attribute", ())
        if len(path) != 1:
            continue
        column = path[0]
        if column == PUBEND:
            narrowing = _with_pubends(narrowing, each)
        elif column in (TICK, TIME):
            narrowing = _with_interval(narrowing, each, is_time=column == TIME)
        elif column not in MESSAGE_COLUMNS and column != ATTRIBUTES:
            condition = condition_of(each, schema)
            if condition is not None:
                narrowing = msgspec.structs.replace(
                    narrowing, conditions=(*narrowing.conditions, condition)
                )
    return narrowing


def _with_pubends(narrowing: Narrowing, each: spark.Filter) -> Narrowing:
    if isinstance(each, spark.EqualTo):
        allowed = frozenset([str(each.value)])
    elif isinstance(each, spark.In):
        allowed = frozenset(map(str, each.value))
    else:
        return narrowing
    known = allowed if narrowing.pubends is None else narrowing.pubends & allowed
    return msgspec.structs.replace(narrowing, pubends=known)


def _with_interval(narrowing: Narrowing, each: spark.Filter, *, is_time: bool) -> Narrowing:
    if not isinstance(each, _COMPARISONS):
        return narrowing
    value: Any = each.value  # type: ignore[attr-defined]
    low, high = narrowing.low, narrowing.high
    if is_time:
        if not isinstance(value, datetime):
            return narrowing
        moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        first = (moment - _EPOCH) // timedelta(microseconds=1) * MICROSECOND
        behind = first + MICROSECOND  # a microsecond is a thousand ticks
    else:
        first, behind = value, value + 1
    if isinstance(each, spark.EqualTo | spark.GreaterThanOrEqual):
        low = max(low, first)
    if isinstance(each, spark.GreaterThan):
        low = max(low, behind)
    if isinstance(each, spark.EqualTo | spark.LessThanOrEqual):
        high = min(high, behind)
    if isinstance(each, spark.LessThan):
        high = min(high, first)
    return msgspec.structs.replace(narrowing, low=low, high=max(low, high))


def condition_of(each: spark.Filter, schema: StructType) -> str | None:
    """A condition that is true whenever the predicate is; None if there is none."""
    if isinstance(each, spark.Not):
        return _negation(each.child, schema)
    column = each.attribute[0]  # type: ignore[attr-defined]
    name = _identifier(column)
    if name is None:
        return None
    match each:
        case spark.IsNotNull():
            return f"{name} IS NOT NULL"
        case spark.In(value=values):
            texts = [_literal(value, schema[column].dataType) for value in values]
            if None in texts or not texts:
                return None
            return " OR ".join(f"{name} = {text}" for text in texts)
        case spark.StringStartsWith(value=value):
            return _like(name, _escaped(value) + "%")
        case spark.StringEndsWith(value=value):
            return _like(name, "%" + _escaped(value))
        case spark.StringContains(value=value):
            return _like(name, "%" + _escaped(value) + "%")
    operator = _OPERATORS.get(type(each))
    if operator is None:
        return None
    kind = schema[column].dataType
    text = _literal(each.value, kind)  # type: ignore[attr-defined]
    if text is None or (operator != "=" and isinstance(kind, StringType | BooleanType)):
        # Selectors compare strings and booleans for equality only.
        return None
    if isinstance(kind, DoubleType) and operator in _COMPLEMENTS:
        return f"NOT ({name} {_COMPLEMENTS[operator]} {text})"
    return f"{name} {operator} {text}"


def _negation(each: spark.Filter, schema: StructType) -> str | None:
    """Negates only equality: neither side accepts a row without the attribute."""
    if not isinstance(each, spark.EqualTo) or len(each.attribute) != 1:
        return None
    kind = schema[each.attribute[0]].dataType
    name, text = _identifier(each.attribute[0]), _literal(each.value, kind)
    if name is None or text is None or isinstance(kind, DoubleType):
        return None
    return f"{name} <> {text}"


def _identifier(name: str) -> str | None:
    """The name in selector syntax, if it is possible."""
    return name if name.isidentifier() and name.isascii() else None


def _literal(value: object, kind: DataType) -> str | None:
    """The value in selector syntax, if it is possible and has the same meaning."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float) and isinstance(kind, DoubleType):
        return repr(value) if abs(value) < _EXACT_IN_A_DOUBLE else None
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return None


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _like(name: str, pattern: str) -> str:
    quoted = pattern.replace("'", "''")
    return f"{name} LIKE '{quoted}' ESCAPE '\\'"

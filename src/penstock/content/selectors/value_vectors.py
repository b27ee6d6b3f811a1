"""One value for each row of a batch, whatever its type.

Rows of a batch may differ in the type of the same attribute, and arithmetic may leave the integers
where a result does not fit; so a vector keeps one *lane* for each type that occurs, a mask of the
rows that have this type beside their values.  Rows in no lane are bytes or, where ``absent``, NULL.
Lanes may have length one: that is a constant, and numpy broadcasts it.

The meaning of everything here is defined by rowwise.py and number_arithmetic.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from penstock.content.rows.columns import (
    INTEGER_MAX,
    INTEGER_MIN,
    Array,
    AttributeType,
    AttributeValue,
    Column,
    Mask,
)
from penstock.content.selectors.expressions import (
    ORDERING_OPERATORS,
    ArithmeticOperator,
    ComparisonOperator,
)

SURE: Final[Mask] = np.ones(1, np.bool_)
NEVER: Final[Mask] = np.zeros(1, np.bool_)

INTEGER_LIMIT: Final = 2.0**63
"""The least float that is above every 64-bit integer."""

SURELY_FITS: Final = 2.0**62
"""A product whose float approximation is below this cannot have left the 64 bits."""

_COMPARE: Final[dict[ComparisonOperator, Callable[[Any, Any], Any]]] = {
    ComparisonOperator.EQUAL: np.equal,
    ComparisonOperator.UNEQUAL: np.not_equal,
    ComparisonOperator.LESS: np.less,
    ComparisonOperator.LESS_OR_EQUAL: np.less_equal,
    ComparisonOperator.GREATER: np.greater,
    ComparisonOperator.GREATER_OR_EQUAL: np.greater_equal,
}

_COMBINE: Final[dict[ArithmeticOperator, Callable[[Any, Any], Any]]] = {
    ArithmeticOperator.ADD: np.add,
    ArithmeticOperator.SUBTRACT: np.subtract,
    ArithmeticOperator.MULTIPLY: np.multiply,
    ArithmeticOperator.DIVIDE: np.divide,
}


class Lane(NamedTuple):
    """The rows of one type and their values; other rows hold an arbitrary filler."""

    rows: Mask
    values: Array
    dictionary: Sequence[str] = ()
    """What the values of a string lane are codes for."""


class ValueVector(NamedTuple):
    """Values of several rows."""

    absent: Mask
    integers: Lane | None = None
    floats: Lane | None = None
    strings: Lane | None = None
    booleans: Lane | None = None


def constant_vector(value: AttributeValue) -> ValueVector:
    """The same value for every row."""
    match value:
        case bool():
            return ValueVector(NEVER, booleans=Lane(SURE, np.array([value], np.bool_)))
        case int():
            return ValueVector(NEVER, integers=Lane(SURE, np.array([value], np.int64)))
        case float():
            return ValueVector(NEVER, floats=Lane(SURE, np.array([value], np.float64)))
        case str():
            return ValueVector(NEVER, strings=Lane(SURE, np.zeros(1, np.uint8), (value,)))
        case bytes():
            return ValueVector(NEVER)


def column_vector(columns: Sequence[Column]) -> ValueVector:
    """The values of one attribute, from its columns of every type."""
    absent = SURE
    lanes: dict[str, Lane] = {}
    for column in columns:
        rows = SURE if column.present is None else column.present
        absent = absent & ~rows
        match column.kind:
            case AttributeType.INT:
                lanes["integers"] = Lane(rows, column.values)
            case AttributeType.FLOAT:
                lanes["floats"] = Lane(rows, column.values)
            case AttributeType.BOOL:
                lanes["booleans"] = Lane(rows, column.values.astype(np.bool_))
            case AttributeType.STRING:
                lanes["strings"] = Lane(rows, column.values, column.dictionary)  # type: ignore[arg-type]
            case AttributeType.BYTES:
                pass
    return ValueVector(absent, **lanes)


def compare_vectors(
    operator: ComparisonOperator, left: ValueVector, right: ValueVector
) -> tuple[Mask, Mask]:
    """The rows for which a comparison is TRUE, and those for which it is UNKNOWN."""
    unknown = left.absent | right.absent
    holds: Mask = NEVER
    compare = _COMPARE[operator]
    for one, two in ((left.integers, right.integers), (left.floats, right.floats)):
        if one is not None and two is not None:
            holds = holds | (one.rows & two.rows & compare(one.values, two.values))
    if left.integers is not None and right.floats is not None:
        one, two = left.integers, right.floats
        signs = compare_exactly(one.values, two.values)
        holds = holds | (one.rows & two.rows & compare(signs, 0))
    if left.floats is not None and right.integers is not None:
        one, two = left.floats, right.integers
        signs = -compare_exactly(two.values, one.values)
        holds = holds | (one.rows & two.rows & compare(signs, 0))
    if operator in ORDERING_OPERATORS:
        return holds, unknown
    if left.strings is not None and right.strings is not None:
        one, two = left.strings, _recoded(right.strings, left.strings.dictionary)
        holds = holds | (one.rows & two.rows & compare(one.values, two.values))
    if left.booleans is not None and right.booleans is not None:
        one, two = left.booleans, right.booleans
        holds = holds | (one.rows & two.rows & compare(one.values, two.values))
    return holds, unknown


def compare_exactly(integers: Array, floats: Array) -> Array:
    """-1, 0 or 1 as the integer is less than, equal to or greater than the float; NaN for NaN.

    Rounding to float keeps order, so only where the rounded integer equals the float must the
    float be taken as an integer; at 2**63 it is above every integer.
    """
    rounded = integers.astype(np.float64)
    with np.errstate(invalid="ignore"):
        signs: Array = np.sign(rounded - floats)
    close = rounded == floats
    if close.any():
        inside = close & (floats < INTEGER_LIMIT)
        truncated = np.where(inside, floats, 0.0).astype(np.int64)
        exact = np.where(integers < truncated, -1.0, np.where(integers > truncated, 1.0, 0.0))
        signs = np.where(close, np.where(inside, exact, -1.0), signs)
    return signs


def negate_vector(operand: ValueVector) -> ValueVector:
    """Unary minus; what is not a number becomes NULL."""
    integers, floats = _numbers(operand)
    fits = integers.values != INTEGER_MIN
    overflown = integers.rows & ~fits
    with np.errstate(over="ignore"):
        negated = -integers.values
    values = np.where(overflown, INTEGER_LIMIT, -floats.values)
    return _number_vector(integers.rows & fits, negated, floats.rows | overflown, values)


def combine_vectors(
    operator: ArithmeticOperator, left: ValueVector, right: ValueVector
) -> ValueVector:
    """Arithmetic; NULL where a side is not a number or an integer is divided by zero."""
    (left_integers, left_floats), (right_integers, right_floats) = _numbers(left), _numbers(right)
    exact = left_integers.rows & right_integers.rows
    numbers = (left_integers.rows | left_floats.rows) & (right_integers.rows | right_floats.rows)
    with np.errstate(all="ignore"):
        as_floats = _COMBINE[operator](
            np.where(left_integers.rows, left_integers.values, left_floats.values),
            np.where(right_integers.rows, right_integers.values, right_floats.values),
        )
        results, fits = _combine_integers(
            operator, left_integers.values, right_integers.values, as_floats
        )
    if operator is ArithmeticOperator.DIVIDE:
        numbers = numbers & ~(exact & (right_integers.values == 0))
        exact = exact & numbers
    return _number_vector(exact & fits, results, numbers & ~(exact & fits), as_floats)


def _combine_integers(
    operator: ArithmeticOperator, left: Array, right: Array, as_floats: Array
) -> tuple[Array, Mask]:
    """Results that wrapped round where they did not fit, and where they did fit."""
    match operator:
        case ArithmeticOperator.ADD:
            total = left + right
            return total, ((left ^ total) & (right ^ total)) >= 0
        case ArithmeticOperator.SUBTRACT:
            difference = left - right
            return difference, ((left ^ right) & (left ^ difference)) >= 0
        case ArithmeticOperator.MULTIPLY:
            product = left * right
            fits = np.abs(as_floats) < SURELY_FITS
            if not fits.all():
                fits = fits | _product_fits(left, right)
            return product, fits
        case ArithmeticOperator.DIVIDE:
            quotient = left // right
            inexact = quotient * right != left
            towards_zero = quotient + (inexact & ((left < 0) != (right < 0)))
            return towards_zero, ~((left == INTEGER_MIN) & (right == -1))


def _product_fits(left: Array, right: Array) -> Mask:
    """Exactly, with Python's integers: only reached by products near or beyond 64 bits."""
    products = left.astype(object) * right.astype(object)
    fits: Mask = ((products >= INTEGER_MIN) & (products <= INTEGER_MAX)).astype(np.bool_)
    return fits


def _numbers(vector: ValueVector) -> tuple[Lane, Lane]:
    """The integer and the float lane, empty ones where the vector has none."""
    return (
        vector.integers or Lane(NEVER, np.zeros(1, np.int64)),
        vector.floats or Lane(NEVER, np.zeros(1, np.float64)),
    )


def _number_vector(
    integer_rows: Mask, integers: Array, float_rows: Mask, floats: Array
) -> ValueVector:
    return ValueVector(
        ~(integer_rows | float_rows), Lane(integer_rows, integers), Lane(float_rows, floats)
    )


def _recoded(lane: Lane, dictionary: Sequence[str]) -> Lane:
    """The lane with codes of another dictionary; -1 for a string that it lacks."""
    index = dict(zip(dictionary, range(len(dictionary)), strict=True))
    codes = np.fromiter(
        (index.get(text, -1) for text in lane.dictionary), np.int64, len(lane.dictionary)
    )
    return Lane(lane.rows, codes[lane.values], dictionary)

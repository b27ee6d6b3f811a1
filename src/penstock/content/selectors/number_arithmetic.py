"""Arithmetic of single numbers, as selectors mean it.

Two 64-bit integers give an integer; where it does not fit, and wherever a float takes part, the
operation is the one of IEEE 754 floats.  The vectorised evaluator does the same on columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add, mul, sub
from typing import Any, Final, TypeAlias

from penstock.content.rows.columns import INTEGER_MAX, INTEGER_MIN
from penstock.content.selectors.expressions import ArithmeticOperator

Number: TypeAlias = int | float

_SAME_FOR_BOTH: Final[dict[ArithmeticOperator, Callable[[Any, Any], Any]]] = {
    ArithmeticOperator.ADD: add,
    ArithmeticOperator.SUBTRACT: sub,
    ArithmeticOperator.MULTIPLY: mul,
}
"""The operations that Python carries out alike for integers and floats."""


def negate(number: Number) -> Number:
    """Unary minus."""
    if isinstance(number, float):
        return -number
    return -number if number != INTEGER_MIN else -float(number)


def combine(operator: ArithmeticOperator, left: Number, right: Number) -> Number | None:
    """Two numbers combined; None, which is NULL, for an integer divided by zero."""
    if isinstance(left, int) and isinstance(right, int):
        if operator is ArithmeticOperator.DIVIDE and right == 0:
            return None
        exact = _combine_integers(operator, left, right)
        if INTEGER_MIN <= exact <= INTEGER_MAX:
            return exact
    return _combine_floats(operator, float(left), float(right))


def _combine_integers(operator: ArithmeticOperator, left: int, right: int) -> int:
    if operator is ArithmeticOperator.DIVIDE:
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    exact: int = _SAME_FOR_BOTH[operator](left, right)
    return exact


def _combine_floats(operator: ArithmeticOperator, left: float, right: float) -> float:
    if operator is not ArithmeticOperator.DIVIDE:
        rounded: float = _SAME_FOR_BOTH[operator](left, right)
        return rounded
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)

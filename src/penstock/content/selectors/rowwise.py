"""The meaning of selectors, one row at a time.

This evaluator is the definition: the vectorised one and the index must agree with it on every row.
The rules, with JMS's section 3.8.1 where it speaks:

1. *NULL.*  An attribute that the row lacks is NULL.  Arithmetic with NULL, with a value that is not
   a number, or an integer division by zero is NULL.  A comparison with NULL is UNKNOWN.
2. *Like types.*  Numbers compare with numbers, strings with strings, booleans with booleans.  A
   comparison of unlike types is FALSE, whichever the operator, and so is an order of strings or
   booleans.  Bytes are unlike everything, themselves included: only ``IS NULL`` sees them.
3. *Numbers* compare by their exact values, also an integer with a float.  (Java would round large
   integers first; an order that is exact can be indexed.)  NaN follows IEEE 754: unequal to all.
4. *Arithmetic* follows Java: two integers give an integer, division truncates towards zero, a float
   on either side makes it floating-point with IEEE infinities and NaN.  Where an integer result
   does not fit 64 bits, the operation is carried out in floats instead of wrapping round.
5. ``x BETWEEN a AND b`` is ``x >= a AND x <= b``; ``NOT BETWEEN`` is ``x < a OR x > b``.
   ``NOT IN`` and ``NOT LIKE`` are NOT of the plain form.  ``LIKE`` of a value that is not a string
   is FALSE.
6. *Logic* is three-valued: UNKNOWN AND FALSE is FALSE, UNKNOWN OR TRUE is TRUE, NOT UNKNOWN is
   UNKNOWN.  A row is selected when the whole condition is TRUE.

UNKNOWN and NULL are both None here.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.content.rows.columns import AttributeValue
from penstock.content.rows.row_view import Row
from penstock.content.selectors.expressions import (
    ORDERING_OPERATORS,
    And,
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Condition,
    Constant,
    In,
    IsNull,
    Like,
    Negation,
    Not,
    Or,
    Value,
)
from penstock.content.selectors.number_arithmetic import Number, combine, negate
from penstock.content.selectors.selector import Selector

Truth: TypeAlias = bool | None


def selects(selector: Selector, row: Row) -> bool:
    """Whether the selector selects a row with these attributes."""
    return evaluate(selector.condition, row) is True


def evaluate(condition: Condition, row: Row) -> Truth:
    """The truth of a condition for a row."""
    match condition:
        case Constant(truth):
            return truth
        case Comparison(operator, left, right):
            return compare(operator, value_of(left, row), value_of(right, row))
        case And(operands):
            return conjunction([evaluate(each, row) for each in operands])
        case Or(operands):
            return disjunction([evaluate(each, row) for each in operands])
        case Not(operand):
            return inverse(evaluate(operand, row))
        case Between():
            return _between(condition, row)
        case In(attribute, choices, negated):
            value = row.get(attribute.name)
            found = disjunction(
                [compare(ComparisonOperator.EQUAL, value, choice.value) for choice in choices]
            )
            return inverse(found) if negated else found
        case Like(attribute, pattern, negated):
            value = row.get(attribute.name)
            if value is None:
                return None
            return (isinstance(value, str) and pattern.matches(value)) is not negated
        case IsNull(attribute, negated):
            return (row.get(attribute.name) is None) is not negated


def value_of(value: Value, row: Row) -> AttributeValue | None:
    """The value of an expression for a row, None for NULL."""
    match value:
        case Attribute(name):
            return row.get(name)
        case Negation(operand):
            number = as_number(value_of(operand, row))
            return None if number is None else negate(number)
        case Arithmetic(operator, left, right):
            first, second = as_number(value_of(left, row)), as_number(value_of(right, row))
            if first is None or second is None:
                return None
            return combine(operator, first, second)
        case literal:
            return literal.value


def compare(
    operator: ComparisonOperator, left: AttributeValue | None, right: AttributeValue | None
) -> Truth:
    """The truth of one comparison (rules 1 to 3)."""
    if left is None or right is None:
        return None
    first, second = as_number(left), as_number(right)
    if first is None or second is None:
        comparable = type(left) is type(right) and not isinstance(left, bytes)
        if not comparable or operator in ORDERING_OPERATORS:
            return False
        return (left == right) is (operator is ComparisonOperator.EQUAL)
    match operator:
        case ComparisonOperator.EQUAL:
            return first == second
        case ComparisonOperator.UNEQUAL:
            return first != second
        case ComparisonOperator.LESS:
            return first < second
        case ComparisonOperator.LESS_OR_EQUAL:
            return first <= second
        case ComparisonOperator.GREATER:
            return first > second
        case ComparisonOperator.GREATER_OR_EQUAL:
            return first >= second


def as_number(value: AttributeValue | None) -> Number | None:
    """The value if it is a number, which a boolean is not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def conjunction(truths: list[Truth]) -> Truth:
    """AND of any number of truths."""
    if any(truth is False for truth in truths):
        return False
    return None if None in truths else True


def disjunction(truths: list[Truth]) -> Truth:
    """OR of any number of truths."""
    if any(truth is True for truth in truths):
        return True
    return None if None in truths else False


def inverse(truth: Truth) -> Truth:
    """NOT of a truth."""
    return None if truth is None else not truth


def _between(condition: Between, row: Row) -> Truth:
    value = value_of(condition.value, row)
    low, high = value_of(condition.low, row), value_of(condition.high, row)
    if condition.negated:
        below = compare(ComparisonOperator.LESS, value, low)
        return disjunction([below, compare(ComparisonOperator.GREATER, value, high)])
    above = compare(ComparisonOperator.GREATER_OR_EQUAL, value, low)
    return conjunction([above, compare(ComparisonOperator.LESS_OR_EQUAL, value, high)])

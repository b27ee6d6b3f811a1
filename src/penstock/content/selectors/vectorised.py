"""Three-valued evaluation of conditions over whole batches.

A condition's outcome is two masks, the rows where it is TRUE and those where it is FALSE; a row in
neither is UNKNOWN.  AND intersects the first and unites the second, OR the reverse, NOT exchanges
them.  The meaning is that of rowwise.py on every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from penstock.content.matching.value_sets import one_of
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import INTEGER_MAX, INTEGER_MIN, Array, Column, Mask
from penstock.content.rows.row_view import columns_by_name
from penstock.content.selectors import expressions as tree
from penstock.content.selectors.selector import Selector
from penstock.content.selectors.value_vectors import (
    NEVER,
    SURE,
    Lane,
    ValueVector,
    column_vector,
    combine_vectors,
    compare_vectors,
    constant_vector,
    negate_vector,
)


class Truths(NamedTuple):
    """Where a condition is TRUE and where it is FALSE; masks of length one are constants."""

    true: Mask
    false: Mask


def select(selector: Selector, batch: Batch) -> Mask:
    """The rows of a batch that a selector selects."""
    return BatchEvaluator(batch).rows(selector.condition, wanted=True)


class BatchEvaluator:
    """Evaluates conditions over one batch and remembers their outcomes while it lives."""

    __slots__ = ("_columns", "_outcomes", "_rows", "_vectors")

    def __init__(self, batch: Batch) -> None:
        """Columns are looked at when a condition names them."""
        self._rows = len(batch)
        self._columns = columns_by_name(batch)
        self._vectors: dict[str, ValueVector] = {}
        self._outcomes: dict[tree.Condition, Truths] = {}

    def columns(self, name: str) -> Sequence[Column]:
        """The columns of one attribute, one for each type that occurs."""
        return self._columns.get(name, ())

    def rows(self, condition: tree.Condition, *, wanted: bool) -> Mask:
        """A mask over all rows of where the condition has the wanted truth."""
        found = self._outcomes.get(condition)
        if found is None:
            found = self._outcomes[condition] = self._evaluate(condition)
        mask = found.true if wanted else found.false
        return mask if len(mask) == self._rows else np.broadcast_to(mask, self._rows)

    def _evaluate(self, condition: tree.Condition) -> Truths:
        match condition:
            case tree.Constant(value):
                return Truths(SURE, NEVER) if value else Truths(NEVER, SURE)
            case tree.Comparison(operator, left, right):
                return self._compare(operator, left, right)
            case tree.And(operands):
                outcomes = [self._evaluate(each) for each in operands]
                return Truths(
                    _reduced(np.logical_and, [each.true for each in outcomes]),
                    _reduced(np.logical_or, [each.false for each in outcomes]),
                )
            case tree.Or(operands):
                outcomes = [self._evaluate(each) for each in operands]
                return Truths(
                    _reduced(np.logical_or, [each.true for each in outcomes]),
                    _reduced(np.logical_and, [each.false for each in outcomes]),
                )
            case tree.Not(operand):
                return _exchanged(self._evaluate(operand))
            case tree.Between():
                return self._between(condition)
            case tree.In(attribute, choices, negated):
                vector = self._attribute(attribute.name)
                outcome = _definite(_membership(vector, choices), vector)
                return _exchanged(outcome) if negated else outcome
            case tree.Like(attribute, pattern, negated):
                vector = self._attribute(attribute.name)
                outcome = _definite(_by_string(vector.strings, pattern.matches), vector)
                return _exchanged(outcome) if negated else outcome
            case tree.IsNull(attribute, negated):
                absent = self._attribute(attribute.name).absent
                outcome = Truths(absent, ~absent)
                return _exchanged(outcome) if negated else outcome

    def _value(self, value: tree.Value) -> ValueVector:
        match value:
            case tree.Attribute(name):
                return self._attribute(name)
            case tree.Negation(operand):
                return negate_vector(self._value(operand))
            case tree.Arithmetic(operator, left, right):
                return combine_vectors(operator, self._value(left), self._value(right))
            case literal:
                return constant_vector(literal.value)

    def _attribute(self, name: str) -> ValueVector:
        vector = self._vectors.get(name)
        if vector is None:
            vector = self._vectors[name] = column_vector(self.columns(name))
        return vector

    def _compare(
        self, operator: tree.ComparisonOperator, left: tree.Value, right: tree.Value
    ) -> Truths:
        true, unknown = compare_vectors(operator, self._value(left), self._value(right))
        return Truths(true, ~(true | unknown))

    def _between(self, condition: tree.Between) -> Truths:
        value, low, high = condition.value, condition.low, condition.high
        if condition.negated:
            first = self._compare(tree.ComparisonOperator.LESS, value, low)
            second = self._compare(tree.ComparisonOperator.GREATER, value, high)
            return Truths(first.true | second.true, first.false & second.false)
        first = self._compare(tree.ComparisonOperator.GREATER_OR_EQUAL, value, low)
        second = self._compare(tree.ComparisonOperator.LESS_OR_EQUAL, value, high)
        return Truths(first.true & second.true, first.false | second.false)


def _reduced(operator: Callable[[Mask, Mask], Mask], masks: list[Mask]) -> Mask:
    first, *others = masks
    for other in others:
        first = operator(first, other)
    return first


def _exchanged(outcome: Truths) -> Truths:
    return Truths(outcome.false, outcome.true)


def _definite(true: Mask, vector: ValueVector) -> Truths:
    """The outcome of a condition that only NULL makes UNKNOWN."""
    return Truths(true, ~(true | vector.absent))


def _by_string(lane: Lane | None, holds: Callable[[str], bool]) -> Mask:
    """Ask once for each distinct string, then spread the answers over the rows."""
    if lane is None:
        return NEVER
    answers = np.fromiter(map(holds, lane.dictionary), np.bool_, len(lane.dictionary))
    return lane.rows & answers[lane.values]


def _membership(vector: ValueVector, choices: tuple[tree.Literal, ...]) -> Mask:
    wanted = one_of(choices)
    found = _by_string(vector.strings, wanted.strings.finite.__contains__)
    numbers = [low[0] for low, _ in wanted.numbers.intervals()]
    if vector.integers is not None:
        exact = [int(n) for n in numbers if n == int(n) and INTEGER_MIN <= n <= INTEGER_MAX]
        among: Array = np.isin(vector.integers.values, np.array(exact, np.int64))
        found = found | (vector.integers.rows & among)
    if vector.floats is not None:
        exact_floats = [float(n) for n in numbers if float(n) == n]
        among = np.isin(vector.floats.values, np.array(exact_floats, np.float64))
        found = found | (vector.floats.rows & among)
    if vector.booleans is not None:
        lane = vector.booleans
        found = found | (lane.rows & np.where(lane.values, wanted.true, wanted.false))
    return found

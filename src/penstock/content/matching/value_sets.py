"""What an attribute may be: the set of its values, absence included.

Every condition on one attribute and constants is TRUE for a set of values and, because only NULL
makes it UNKNOWN, FALSE for all other values that are present.  A conjunction of conditions on one
attribute is an intersection of such sets, a disjunction a union; covering is inclusion; and the
index asks for each value which sets hold it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.content.matching.number_sets import (
    ALL_NUMBERS,
    NO_NUMBERS,
    NumberSet,
    above,
    below,
    exactly,
)
from penstock.content.matching.string_sets import (
    ALL_STRINGS,
    NO_STRINGS,
    StringSet,
    strings_like,
)
from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.expressions import (
    BooleanLiteral,
    ComparisonOperator,
    In,
    IsNull,
    Like,
    Literal,
    StringLiteral,
)
from penstock.content.selectors.number_arithmetic import Number


class ValueSet(msgspec.Struct, frozen=True, gc=False):
    """A set of attribute values, in which absence is a value too."""

    strings: StringSet = NO_STRINGS
    numbers: NumberSet = NO_NUMBERS
    true: bool = False
    false: bool = False
    bytes_: bool = False
    absent: bool = False

    def __contains__(self, value: AttributeValue | None) -> bool:
        """Whether an attribute with this value, or None for absence, is in the set."""
        match value:
            case None:
                return self.absent
            case bool():
                return self.true if value else self.false
            case str():
                return value in self.strings
            case bytes():
                return self.bytes_
            case number:
                return number in self.numbers

    def __and__(self, other: ValueSet) -> ValueSet:
        """What both hold."""
        return ValueSet(
            self.strings & other.strings,
            self.numbers & other.numbers,
            self.true and other.true,
            self.false and other.false,
            self.bytes_ and other.bytes_,
            self.absent and other.absent,
        )

    def __or__(self, other: ValueSet) -> ValueSet:
        """What either holds."""
        return ValueSet(
            self.strings | other.strings,
            self.numbers | other.numbers,
            self.true or other.true,
            self.false or other.false,
            self.bytes_ or other.bytes_,
            self.absent or other.absent,
        )

    def __invert__(self) -> ValueSet:
        """All other values, and absence if it is not in the set."""
        return ValueSet(
            ~self.strings,
            ~self.numbers,
            not self.true,
            not self.false,
            not self.bytes_,
            not self.absent,
        )

    def __sub__(self, other: ValueSet) -> ValueSet:
        """What only this one holds."""
        return self & ~other

    def __bool__(self) -> bool:
        """Whether the set may hold anything."""
        return self != NOTHING


NOTHING: Final = ValueSet()
PRESENT: Final = ValueSet(ALL_STRINGS, ALL_NUMBERS, true=True, false=True, bytes_=True)
ABSENT: Final = ValueSet(absent=True)
ANY_VALUE: Final = PRESENT | ABSENT


def compared_with(operator: ComparisonOperator, bound: AttributeValue | None) -> ValueSet:
    """The values for which ``attribute operator bound`` is TRUE."""
    match bound:
        case None | bytes():
            return NOTHING
        case str():
            alike = StringSet(frozenset({bound}))
            if operator is ComparisonOperator.EQUAL:
                return ValueSet(strings=alike)
            return ValueSet(
                strings=~alike if operator is ComparisonOperator.UNEQUAL else NO_STRINGS
            )
        case bool():
            if operator is ComparisonOperator.EQUAL:
                return ValueSet(true=bound, false=not bound)
            if operator is ComparisonOperator.UNEQUAL:
                return ValueSet(true=not bound, false=bound)
            return NOTHING
        case number:
            return ValueSet(numbers=_numbers_compared(operator, number))


def among(condition: In) -> ValueSet:
    """The values for which an IN is TRUE."""
    found = one_of(condition.choices)
    return PRESENT - found if condition.negated else found


def one_of(choices: tuple[Literal, ...]) -> ValueSet:
    """The values of some literals."""
    strings = frozenset(each.value for each in choices if isinstance(each, StringLiteral))
    truths = {each.value for each in choices if isinstance(each, BooleanLiteral)}
    numbers = [
        each.value for each in choices if not isinstance(each, StringLiteral | BooleanLiteral)
    ]
    return ValueSet(StringSet(strings), exactly(numbers), True in truths, False in truths)


def like(condition: Like) -> ValueSet:
    """The values for which a LIKE is TRUE."""
    found = ValueSet(strings=strings_like(condition.pattern))
    return PRESENT - found if condition.negated else found


def nullness(condition: IsNull) -> ValueSet:
    """The values for which an IS NULL is TRUE."""
    return PRESENT if condition.negated else ABSENT


def _numbers_compared(operator: ComparisonOperator, bound: Number) -> NumberSet:
    match operator:
        case ComparisonOperator.EQUAL:
            return exactly([bound])
        case ComparisonOperator.UNEQUAL:
            return ~exactly([bound])
        case ComparisonOperator.LESS | ComparisonOperator.LESS_OR_EQUAL:
            return below(bound, inclusive=operator is ComparisonOperator.LESS_OR_EQUAL)
        case ComparisonOperator.GREATER | ComparisonOperator.GREATER_OR_EQUAL:
            return above(bound, inclusive=operator is ComparisonOperator.GREATER_OR_EQUAL)


def finite_values(wanted: ValueSet) -> tuple[AttributeValue, ...] | None:
    """The values of a set that is a list of strings, numbers and booleans, else None."""
    strings, numbers = wanted.strings, wanted.numbers
    if wanted.absent or wanted.bytes_ or strings.regions or not numbers.is_finite:
        return None
    truths = (True,) * wanted.true + (False,) * wanted.false
    return (*sorted(strings.finite), *(low[0] for low, _ in numbers.intervals()), *truths)

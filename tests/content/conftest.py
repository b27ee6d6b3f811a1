"""Random selectors and rows, small enough to collide: few names, few and awkward values."""

import math
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock.content.selectors.expressions import (
    ORDERING_OPERATORS,
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    BooleanLiteral,
    Comparison,
    ComparisonOperator,
    Constant,
    FloatLiteral,
    In,
    IntegerLiteral,
    IsNull,
    Like,
    Negation,
    Not,
    Or,
    StringLiteral,
)
from penstock.content.selectors.like_pattern import parse_pattern
from penstock.content.selectors.selector import Selector

INTEGERS = (0, 1, -1, 2, 3, 7, -7, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, 0.5, -0.5, 1.0, 2.5, -7.0, 2.0**53, 2.0**63, -(2.0**63), 1e308, -1e308, 5e-324)
STRINGS = ("", "a", "ab", "abc", "abd", "b", "ba", "%", "a_c", "é", "a\nb")
PATTERNS = ("%", "a%", "ab%", "%b", "%b%", "a_", "_", "_%", "a%c", "ab", "", "%a%b%", "!%%", "a!_c")
NAMES = ("a", "b", "c", "order-id")

integer_literals = st.sampled_from(INTEGERS).map(IntegerLiteral)
float_literals = st.sampled_from(FLOATS).map(FloatLiteral)
string_literals = st.sampled_from(STRINGS).map(StringLiteral)
boolean_literals = st.booleans().map(BooleanLiteral)
number_literals = integer_literals | float_literals
literals = number_literals | string_literals | boolean_literals
attributes = st.sampled_from(NAMES).map(Attribute)

arithmetic = st.recursive(
    attributes | number_literals,
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from(ArithmeticOperator), inner, inner),
        # The sign of a literal is part of it, so a parser never negates one.
        inner.filter(lambda v: not isinstance(v, IntegerLiteral | FloatLiteral)).map(Negation),
    ),
    max_leaves=3,
)
orders = st.sampled_from(sorted(ORDERING_OPERATORS, key=lambda each: each.value))
equalities = st.sampled_from((ComparisonOperator.EQUAL, ComparisonOperator.UNEQUAL))
patterns = st.sampled_from(PATTERNS).map(lambda text: parse_pattern(text, "!"))
choices = st.lists(literals, min_size=1, max_size=4, unique=True).map(tuple)

simple_conditions = st.one_of(
    st.builds(Comparison, orders | equalities, attributes, number_literals),
    st.builds(Comparison, orders, number_literals, attributes),
    st.builds(Comparison, equalities, attributes, literals),
    st.builds(Between, attributes, number_literals, number_literals, st.booleans()),
    st.builds(In, attributes, choices, st.booleans()),
    st.builds(Like, attributes, patterns, st.booleans()),
    st.builds(IsNull, attributes, st.booleans()),
    st.booleans().map(Constant),
)
relating_conditions = st.one_of(
    st.builds(Comparison, orders, arithmetic, arithmetic),
    st.builds(Comparison, equalities, attributes | arithmetic, literals | attributes),
    st.builds(Between, arithmetic, arithmetic, arithmetic, st.booleans()),
)


def _combined(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def flat(kind: type, operands: list[Any]) -> Any:
        inner: list[Any] = []
        for operand in operands:
            inner.extend(operand.operands if isinstance(operand, kind) else (operand,))
        return kind(tuple(inner))

    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, inner),
            st.lists(inner, min_size=2, max_size=3).map(lambda each: flat(And, each)),
            st.lists(inner, min_size=2, max_size=3).map(lambda each: flat(Or, each)),
        ),
        max_leaves=6,
    )


values = st.one_of(
    st.sampled_from(INTEGERS),
    st.sampled_from((*FLOATS, -0.0, math.inf, -math.inf, math.nan)),
    st.sampled_from(STRINGS),
    st.booleans(),
    st.sampled_from((b"", b"a")),
)


class Draws:
    """What the tests draw from."""

    conditions = _combined(simple_conditions | relating_conditions)
    selectors = conditions.map(Selector.of)
    indexable = _combined(simple_conditions).map(Selector.of)
    attribute_rows = st.dictionaries(st.sampled_from(NAMES), values, max_size=4)
    values = values
    patterns = patterns
    strings = st.sampled_from(STRINGS) | st.text("ab%_", max_size=5)

    def __repr__(self) -> str:
        """Short, because Hypothesis prints it with every failure."""
        return "Draws()"


@pytest.fixture(scope="session")
def draws() -> Draws:
    return Draws()

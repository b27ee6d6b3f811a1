"""The typed syntax tree of a selector.

There are two sorts of node, and the parser never confuses them:

1. a *value* (an attribute, a literal, arithmetic) yields a string, a number, a boolean, bytes, or
   NULL where the row lacks the attribute;
2. a *condition* (comparison, ``BETWEEN``, ``IN``, ``LIKE``, ``IS NULL``, logic) yields TRUE, FALSE
   or UNKNOWN.

A bare attribute in the place of a condition, ``urgent AND price > 5``, is written out as the
comparison ``urgent = TRUE``.  ``AND`` and ``OR`` hold all their operands in one tuple, so a long
chain is wide and not deep.  Nodes are frozen and compare by value.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from penstock.content.selectors.like_pattern import LikePattern


class ComparisonOperator(Enum):
    """How two values are compared; the value is the operator's spelling."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="


class ArithmeticOperator(Enum):
    """How two numbers are combined; the value is the operator's spelling."""

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"


ORDERING_OPERATORS: Final = frozenset(
    {
        ComparisonOperator.LESS,
        ComparisonOperator.LESS_OR_EQUAL,
        ComparisonOperator.GREATER,
        ComparisonOperator.GREATER_OR_EQUAL,
    }
)
"""Defined for numbers only: JMS restricts strings and booleans to ``=`` and ``<>``."""

MIRRORED: Final = {
    ComparisonOperator.EQUAL: ComparisonOperator.EQUAL,
    ComparisonOperator.UNEQUAL: ComparisonOperator.UNEQUAL,
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_OR_EQUAL: ComparisonOperator.GREATER_OR_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_OR_EQUAL: ComparisonOperator.LESS_OR_EQUAL,
}
"""The operator that says the same when its two sides are exchanged."""


class Node(msgspec.Struct, frozen=True, gc=False):
    """Anything that stands in a syntax tree."""


class Attribute(Node, frozen=True, gc=False):
    """The row's value of this name, or NULL."""

    name: str


class StringLiteral(Node, frozen=True, gc=False):
    """A string written in the selector."""

    value: str


class IntegerLiteral(Node, frozen=True, gc=False):
    """An exact number; it fits 64 bits."""

    value: int


class FloatLiteral(Node, frozen=True, gc=False):
    """An approximate number; it is finite, and zero has no sign."""

    value: float


class BooleanLiteral(Node, frozen=True, gc=False):
    """TRUE or FALSE as a value to compare with."""

    value: bool


class Negation(Node, frozen=True, gc=False):
    """Unary minus."""

    operand: Value


class Arithmetic(Node, frozen=True, gc=False):
    """Two numbers combined."""

    operator: ArithmeticOperator
    left: Value
    right: Value


class Constant(Node, frozen=True, gc=False):
    """A condition with the same outcome for every row."""

    value: bool


class Comparison(Node, frozen=True, gc=False):
    """Two values compared."""

    operator: ComparisonOperator
    left: Value
    right: Value


class Between(Node, frozen=True, gc=False):
    """``value >= low AND value <= high``; negated, ``value < low OR value > high``."""

    value: Value
    low: Value
    high: Value
    negated: bool = False


class In(Node, frozen=True, gc=False):
    """Equal to one of the choices, which are distinct and in the order they were written."""

    attribute: Attribute
    choices: tuple[Literal, ...]
    negated: bool = False


class Like(Node, frozen=True, gc=False):
    """A string of the pattern's form."""

    attribute: Attribute
    pattern: LikePattern
    negated: bool = False


class IsNull(Node, frozen=True, gc=False):
    """Whether the row lacks the attribute; never UNKNOWN."""

    attribute: Attribute
    negated: bool = False


class Not(Node, frozen=True, gc=False):
    """TRUE and FALSE exchanged; UNKNOWN stays."""

    operand: Condition


class And(Node, frozen=True, gc=False):
    """Two or more conditions of which none is itself an ``And``."""

    operands: tuple[Condition, ...]


class Or(Node, frozen=True, gc=False):
    """Two or more conditions of which none is itself an ``Or``."""

    operands: tuple[Condition, ...]


Literal: TypeAlias = StringLiteral | IntegerLiteral | FloatLiteral | BooleanLiteral
Value: TypeAlias = Attribute | Literal | Negation | Arithmetic
Condition: TypeAlias = Constant | Comparison | Between | In | Like | IsNull | Not | And | Or

CONDITIONS: Final = (Constant, Comparison, Between, In, Like, IsNull, Not, And, Or)

TRUE: Final = Constant(True)
FALSE: Final = Constant(False)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below a node, from left to right."""
    match node:
        case Negation(operand) | Not(operand):
            return (operand,)
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return (left, right)
        case Between(value, low, high):
            return (value, low, high)
        case In(attribute, choices):
            return (attribute, *choices)
        case Like(attribute) | IsNull(attribute):
            return (attribute,)
        case And(operands) | Or(operands):
            return operands
        case _:
            return ()


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Every node with its depth, parents before children; needs no recursion."""
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting.extend((child, depth + 1) for child in reversed(children(node)))


def attribute_names(root: Node) -> list[str]:
    """The names that a condition speaks of, each once, sorted."""
    return sorted({node.name for node, _ in walk(root) if isinstance(node, Attribute)})

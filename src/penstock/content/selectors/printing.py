"""Canonical text of a condition: parsing it again gives the same tree.

Keywords are in capitals, one space stands around operators, brackets stand only where precedence
needs them, floats have the shortest digits that read back exactly, and a name stands in double
quotes only if it is not a plain identifier.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from penstock.content.selectors.expressions import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    BooleanLiteral,
    Comparison,
    Condition,
    Constant,
    FloatLiteral,
    In,
    IntegerLiteral,
    IsNull,
    Like,
    Negation,
    Node,
    Not,
    Or,
    StringLiteral,
)
from penstock.content.selectors.grammar import KEYWORDS

_PLAIN_NAME: Final = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


class _Binding(IntEnum):
    """How tightly a node's text holds together; a looser one needs brackets inside a tighter."""

    OR = 1
    AND = 2
    NOT = 3
    PREDICATE = 4
    SUM = 5
    PRODUCT = 6
    UNARY = 7
    PRIMARY = 8


def condition_text(condition: Condition) -> str:
    """The canonical text of a condition."""
    return _text(condition)


def value_text(value: Node) -> str:
    """The canonical text of an attribute, a literal or arithmetic."""
    return _text(value)


def name_text(name: str) -> str:
    """An attribute's name as it stands in a selector."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def string_text(value: str) -> str:
    """A string as it stands in a selector."""
    return "'" + value.replace("'", "''") + "'"


def _text(node: Node) -> str:
    match node:
        case Attribute(name):
            return name_text(name)
        case StringLiteral(value):
            return string_text(value)
        case BooleanLiteral(truth) | Constant(truth):
            return "TRUE" if truth else "FALSE"
        case IntegerLiteral(number) | FloatLiteral(number):
            return repr(number)
        case Negation(operand):
            return "-" + _within(operand, _Binding.UNARY)
        case Arithmetic(operator, left, right):
            binding = _binding(node)
            # The right side of an operator of the same strength keeps its brackets: a - (b - c).
            following = _within(right, _Binding(binding + 1))
            return f"{_within(left, binding)} {operator.value} {following}"
        case And(operands):
            return " AND ".join(_within(each, _Binding.NOT) for each in operands)
        case Or(operands):
            return " OR ".join(_within(each, _Binding.AND) for each in operands)
        case Not(operand):
            return "NOT " + _within(operand, _Binding.NOT)
        case _:
            return _predicate_text(node)


def _predicate_text(node: Node) -> str:
    match node:
        case Comparison(operator, left, right):
            return f"{_within(left, _Binding.SUM)} {operator.value} {_within(right, _Binding.SUM)}"
        case Between(value, low, high, negated):
            word = "NOT BETWEEN" if negated else "BETWEEN"
            bounds = f"{_within(low, _Binding.SUM)} AND {_within(high, _Binding.SUM)}"
            return f"{_within(value, _Binding.SUM)} {word} {bounds}"
        case In(attribute, choices, negated):
            word = "NOT IN" if negated else "IN"
            return f"{_text(attribute)} {word} ({', '.join(map(_text, choices))})"
        case Like(attribute, pattern, negated):
            word = "NOT LIKE" if negated else "LIKE"
            text, escape = pattern.canonical()
            tail = f" ESCAPE {string_text(escape)}" if escape is not None else ""
            return f"{_text(attribute)} {word} {string_text(text)}{tail}"
        case IsNull(attribute, negated):
            return f"{_text(attribute)} {'IS NOT NULL' if negated else 'IS NULL'}"
        case _:
            raise TypeError(f"{type(node).__name__} is not part of a selector")


def _within(node: Node, least: _Binding) -> str:
    """The text of a node where at least this binding is needed."""
    text = _text(node)
    return f"({text})" if _binding(node) < least else text


def _binding(node: Node) -> _Binding:
    match node:
        case Or():
            return _Binding.OR
        case And():
            return _Binding.AND
        case Not():
            return _Binding.NOT
        case Arithmetic(ArithmeticOperator.ADD | ArithmeticOperator.SUBTRACT):
            return _Binding.SUM
        case Arithmetic():
            return _Binding.PRODUCT
        case Negation():
            return _Binding.UNARY
        case Attribute() | StringLiteral() | BooleanLiteral() | Constant():
            return _Binding.PRIMARY
        case IntegerLiteral(number) | FloatLiteral(number):
            return _Binding.UNARY if number < 0 else _Binding.PRIMARY
        case _:
            return _Binding.PREDICATE

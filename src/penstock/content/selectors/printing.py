"""Canonical text of a condition: parsing it again gives the same tree.

Keywords are in capitals, one space stands around operators, brackets stand only where precedence
needs them, floats have the shortest digits that read back exactly, and a name stands in double
quotes only if it is not a plain identifier.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from penstock.content.selectors import expressions as tree
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


def condition_text(condition: tree.Condition) -> str:
    """The canonical text of a condition."""
    return _text(condition)


def value_text(value: tree.Node) -> str:
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


def _text(node: tree.Node) -> str:
    match node:
        case tree.Attribute(name):
            return name_text(name)
        case tree.StringLiteral(value):
            return string_text(value)
        case tree.BooleanLiteral(truth) | tree.Constant(truth):
            return "TRUE" if truth else "FALSE"
        case tree.IntegerLiteral(number) | tree.FloatLiteral(number):
            return repr(number)
        case tree.Negation(operand):
            return "-" + _within(operand, _Binding.UNARY)
        case tree.Arithmetic(operator, left, right):
            binding = _binding(node)
            # The right side of an operator of the same strength keeps its brackets: a - (b - c).
            following = _within(right, _Binding(binding + 1))
            return f"{_within(left, binding)} {operator.value} {following}"
        case tree.And(operands):
            return " AND ".join(_within(each, _Binding.NOT) for each in operands)
        case tree.Or(operands):
            return " OR ".join(_within(each, _Binding.AND) for each in operands)
        case tree.Not(operand):
            return "NOT " + _within(operand, _Binding.NOT)
        case _:
            return _predicate_text(node)


def _predicate_text(node: tree.Node) -> str:
    match node:
        case tree.Comparison(operator, left, right):
            return f"{_within(left, _Binding.SUM)} {operator.value} {_within(right, _Binding.SUM)}"
        case tree.Between(value, low, high, negated):
            word = "NOT BETWEEN" if negated else "BETWEEN"
            bounds = f"{_within(low, _Binding.SUM)} AND {_within(high, _Binding.SUM)}"
            return f"{_within(value, _Binding.SUM)} {word} {bounds}"
        case tree.In(attribute, choices, negated):
            word = "NOT IN" if negated else "IN"
            return f"{_text(attribute)} {word} ({', '.join(map(_text, choices))})"
        case tree.Like(attribute, pattern, negated):
            word = "NOT LIKE" if negated else "LIKE"
            text, escape = pattern.canonical()
            tail = f" ESCAPE {string_text(escape)}" if escape is not None else ""
            return f"{_text(attribute)} {word} {string_text(text)}{tail}"
        case tree.IsNull(attribute, negated):
            return f"{_text(attribute)} {'IS NOT NULL' if negated else 'IS NULL'}"
        case _:
            raise TypeError(f"{type(node).__name__} is not part of a selector")


def _within(node: tree.Node, least: _Binding) -> str:
    """The text of a node where at least this binding is needed."""
    text = _text(node)
    return f"({text})" if _binding(node) < least else text


def _binding(node: tree.Node) -> _Binding:
    match node:
        case tree.Or():
            return _Binding.OR
        case tree.And():
            return _Binding.AND
        case tree.Not():
            return _Binding.NOT
        case tree.Arithmetic(tree.ArithmeticOperator.ADD | tree.ArithmeticOperator.SUBTRACT):
            return _Binding.SUM
        case tree.Arithmetic():
            return _Binding.PRODUCT
        case tree.Negation():
            return _Binding.UNARY
        case tree.Attribute() | tree.StringLiteral() | tree.BooleanLiteral() | tree.Constant():
            return _Binding.PRIMARY
        case tree.IntegerLiteral(number) | tree.FloatLiteral(number):
            return _Binding.UNARY if number < 0 else _Binding.PRIMARY
        case _:
            return _Binding.PREDICATE

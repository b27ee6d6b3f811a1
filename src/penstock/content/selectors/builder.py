"""Builds typed nodes while the parser runs.

Every method but the private ones is named after a rule or an alias of the grammar and receives the
parts of what was recognised: tokens, and nodes with the place where they began.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple, NoReturn, TypeAlias, TypeVar

from lark import Token, Transformer

from penstock.content.rows.columns import INTEGER_MAX, INTEGER_MIN
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.expressions import (
    CONDITIONS,
    ORDERING_OPERATORS,
    And,
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    BooleanLiteral,
    Comparison,
    ComparisonOperator,
    Condition,
    Constant,
    FloatLiteral,
    In,
    IntegerLiteral,
    IsNull,
    Like,
    Literal,
    Negation,
    Node,
    Not,
    Or,
    StringLiteral,
    Value,
)
from penstock.content.selectors.like_pattern import InvalidPattern, parse_pattern
from penstock.content.selectors.printing import value_text


class Placed(NamedTuple):
    """A node and where its text began."""

    node: Node
    line: int
    column: int


Part: TypeAlias = Placed | Token
_Joined = TypeVar("_Joined", And, Or)


class SelectorBuilder(Transformer[Token, Placed]):
    """One method for each rule of the grammar."""

    def start(self, parts: list[Part]) -> Condition:
        """The whole selector."""
        return _condition(parts[0])

    def disjunction(self, parts: list[Part]) -> Placed:
        """Conditions joined by OR."""
        return _placed(_joined(Or, parts), parts[0])

    def conjunction(self, parts: list[Part]) -> Placed:
        """Conditions joined by AND."""
        return _placed(_joined(And, parts), parts[0])

    def inversion(self, parts: list[Part]) -> Placed:
        """A condition behind NOT."""
        return _placed(Not(_condition(parts[1])), parts[0])

    def comparison(self, parts: list[Part]) -> Placed:
        """Two values and the operator between them."""
        operator = ComparisonOperator(str(parts[1]))
        operand = _number if operator in ORDERING_OPERATORS else _comparable
        return _placed(Comparison(operator, operand(parts[0]), operand(parts[2])), parts[0])

    def between(self, parts: list[Part]) -> Placed:
        """A number and its bounds."""
        value, low, high = (_number(part) for part in parts if isinstance(part, Placed))
        return _placed(Between(value, low, high, _is_negated(parts)), parts[0])

    def membership(self, parts: list[Part]) -> Placed:
        """An attribute and the values that it may have."""
        choices = parts[-1]
        assert isinstance(choices, list)
        return _placed(In(_attribute(parts[0], "IN"), tuple(choices), _is_negated(parts)), parts[0])

    def choices(self, parts: list[Part]) -> list[Literal]:
        """The values in the brackets of IN, each once."""
        return list(dict.fromkeys(_literal(part) for part in parts))

    def like(self, parts: list[Part]) -> Placed:
        """An attribute and a pattern."""
        attribute = _attribute(parts[0], "LIKE")
        texts = [part for part in parts if isinstance(part, Token) and part.type == "STRING"]
        escape = _unquoted(texts[1]) if len(texts) > 1 else None
        try:
            pattern = parse_pattern(_unquoted(texts[0]), escape)
        except InvalidPattern as error:
            _refuse(texts[-1], str(error), "for instance: name LIKE '50!%%' ESCAPE '!'")
        return _placed(Like(attribute, pattern, _is_negated(parts)), parts[0])

    def is_null(self, parts: list[Part]) -> Placed:
        """An attribute that is or is not there."""
        return _placed(IsNull(_attribute(parts[0], "IS NULL"), _is_negated(parts)), parts[0])

    def arithmetic(self, parts: list[Part]) -> Placed:
        """Two numbers and the operator between them."""
        operator = ArithmeticOperator(str(parts[1]))
        return _placed(Arithmetic(operator, _number(parts[0]), _number(parts[2])), parts[0])

    def signed(self, parts: list[Part]) -> Placed:
        """A number behind a sign; the sign of a literal becomes part of it."""
        sign, operand = parts
        assert isinstance(operand, Placed)
        if sign == "+":
            return _placed(_number(operand), sign)
        node: Value
        match operand.node:
            case IntegerLiteral(number):
                node = IntegerLiteral(-number)
            case FloatLiteral(number):
                node = FloatLiteral(0.0 - number)
            case _:
                node = Negation(_number(operand))
        return _placed(node, sign)

    def name(self, parts: list[Part]) -> Placed:
        """A plain attribute name."""
        return _placed(Attribute(str(parts[0])), parts[0])

    def quoted_name(self, parts: list[Part]) -> Placed:
        """An attribute name in double quotes."""
        return _placed(Attribute(str(parts[0])[1:-1].replace('""', '"')), parts[0])

    def string(self, parts: list[Part]) -> Placed:
        """A string in single quotes."""
        return _placed(StringLiteral(_unquoted(parts[0])), parts[0])

    def true(self, parts: list[Part]) -> Placed:
        """The boolean TRUE."""
        return _placed(BooleanLiteral(True), parts[0])

    def false(self, parts: list[Part]) -> Placed:
        """The boolean FALSE."""
        return _placed(BooleanLiteral(False), parts[0])

    def integer(self, parts: list[Part]) -> Placed:
        """An exact number in Java's notation; its range is checked where it is used."""
        digits = str(parts[0]).rstrip("lL").replace("_", "").lower()
        if re.fullmatch(r"0\d+", digits):
            if re.search(r"[89]", digits):
                _refuse(parts[0], f"{parts[0]} is not a number", "a leading 0 makes it octal")
            digits = "0o" + digits[1:]
        return _placed(IntegerLiteral(int(digits, 0)), parts[0])

    def float(self, parts: list[Part]) -> Placed:
        """An approximate number in Java's notation."""
        text = str(parts[0]).replace("_", "").lower()
        if text.startswith("0x"):
            try:
                number = float.fromhex(text.rstrip("df") if "p" in text else text)
            except OverflowError:
                number = math.inf
        else:
            number = float(text.rstrip("df"))
        if math.isinf(number):
            _refuse(parts[0], f"{parts[0]} is beyond the range of a 64-bit float", "")
        return _placed(FloatLiteral(number), parts[0])


def _placed(node: Node, at: Part) -> Placed:
    line, column = at.line, at.column
    assert line is not None
    assert column is not None
    return Placed(node, line, column)


def _refuse(at: Part, reason: str, hint: str) -> NoReturn:
    raise SelectorError(reason, line=at.line or 0, column=at.column or 0, hint=hint)


def _is_negated(parts: list[Part]) -> bool:
    return any(isinstance(part, Token) and part.type == "NOT" for part in parts)


def _unquoted(token: Part) -> str:
    return str(token)[1:-1].replace("''", "'")


def _joined(kind: type[_Joined], parts: list[Part]) -> _Joined:
    """One flat tuple of operands; brackets around a chain of the same operator vanish."""
    operands: list[Condition] = []
    for part in parts:
        if isinstance(part, Token):
            continue
        condition = _condition(part)
        operands.extend(condition.operands if isinstance(condition, kind) else (condition,))
    return kind(tuple(operands))


def _condition(part: Part) -> Condition:
    """The part as a condition; a boolean attribute or literal is one too."""
    assert isinstance(part, Placed)
    match part.node:
        case Attribute():
            return Comparison(ComparisonOperator.EQUAL, part.node, BooleanLiteral(True))
        case BooleanLiteral(value):
            return Constant(value)
        case node if isinstance(node, CONDITIONS):
            return node
        case node:
            shown = value_text(node)
            _refuse(part, f"{shown} is a value, not a condition", f"compare it: {shown} = …")


def _comparable(part: Part) -> Value:
    """The part as a value of any type."""
    assert isinstance(part, Placed)
    node = part.node
    if isinstance(node, CONDITIONS):
        _refuse(part, "a condition cannot be compared or calculated with", "use AND, OR and NOT")
    if isinstance(node, IntegerLiteral) and not INTEGER_MIN <= node.value <= INTEGER_MAX:
        _refuse(part, f"{node.value} does not fit 64 bits", f"write a float: {node.value}.0")
    return node  # type: ignore[return-value]


def _number(part: Part) -> Value:
    """The part as something that can be a number."""
    node = _comparable(part)
    if isinstance(node, StringLiteral):
        hint = "strings compare with = and <> only; for a prefix write LIKE 'text%'"
        _refuse(part, f"the string {value_text(node)} stands where a number must", hint)
    if isinstance(node, BooleanLiteral):
        hint = "booleans compare with = and <> only"
        _refuse(part, f"{value_text(node)} stands where a number must", hint)
    return node


def _literal(part: Part) -> Literal:
    node = _comparable(part)
    assert isinstance(node, StringLiteral | IntegerLiteral | FloatLiteral | BooleanLiteral)
    return node


def _attribute(part: Part, operator: str) -> Attribute:
    assert isinstance(part, Placed)
    if not isinstance(part.node, Attribute):
        _refuse(part, f"{operator} needs an attribute on its left", "write it behind a name")
    return part.node

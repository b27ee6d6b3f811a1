"""The grammar of selectors, for an LALR(1) parser with a keyword-aware lexer.

One ladder of precedence serves conditions and values alike, because a bracket may open either; the
parser's builder (parser.py) tells them apart by type.  From loosest to tightest: ``OR``, ``AND``,
``NOT``, one comparison or predicate, ``+ -``, ``* /``, unary sign.

Numbers follow the Java language, as JMS asks: decimal, hexadecimal (``0x1F``), octal (``017``) and
binary (``0b11``) integers with an optional ``L``; floats with a point, an exponent or a ``D`` or
``F`` at the end (always 64-bit here), also in hexadecimal; underscores between digits.  Keywords
are case-insensitive and reserved.  A name in double quotes is an attribute whatever it contains.
"""

from __future__ import annotations

from typing import Final

KEYWORDS: Final = (
    "AND",
    "BETWEEN",
    "ESCAPE",
    "FALSE",
    "IN",
    "IS",
    "LIKE",
    "NOT",
    "NULL",
    "OR",
    "TRUE",
)

_KEYWORD_TERMINALS: Final = "\n".join(rf"{word}.2: /{word}(?![\w$])/i" for word in KEYWORDS)

_HEXADECIMAL_FLOAT: Final = (
    r"0[xX](?:[0-9a-fA-F_]+\.?[0-9a-fA-F_]*|\.[0-9a-fA-F_]+)[pP][+-]?[0-9][0-9_]*[dDfF]?"
)
_POINT_FLOAT: Final = r"(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?[dDfF]?"
_EXPONENT_FLOAT: Final = r"[0-9][0-9_]*(?:[eE][+-]?[0-9][0-9_]*[dDfF]?|[dDfF])(?![\w$])"
_FLOAT: Final = f"{_HEXADECIMAL_FLOAT}|{_POINT_FLOAT}|{_EXPONENT_FLOAT}"

GRAMMAR: Final = rf"""
start: disjunction?

?disjunction: conjunction (OR conjunction)*
?conjunction: negation (AND negation)*
?negation: predicate
    | NOT negation -> inversion

?predicate: sum
    | sum COMPARISON sum -> comparison
    | sum BETWEEN sum AND sum -> between
    | sum NOT BETWEEN sum AND sum -> between
    | sum IN "(" choices ")" -> membership
    | sum NOT IN "(" choices ")" -> membership
    | sum LIKE STRING [ESCAPE STRING] -> like
    | sum NOT LIKE STRING [ESCAPE STRING] -> like
    | sum IS NULL -> is_null
    | sum IS NOT NULL -> is_null

choices: choice ("," choice)*
?choice: literal
    | SIGN number -> signed

?sum: product
    | sum SIGN product -> arithmetic
?product: unary
    | product SCALE unary -> arithmetic
?unary: primary
    | SIGN unary -> signed
?primary: literal
    | NAME -> name
    | QUOTED_NAME -> quoted_name
    | "(" disjunction ")"

?literal: number
    | STRING -> string
    | TRUE -> true
    | FALSE -> false
?number: INTEGER -> integer
    | FLOAT -> float

{_KEYWORD_TERMINALS}

COMPARISON: "<>" | "<=" | ">=" | "=" | "<" | ">"
SIGN: "+" | "-"
SCALE: "*" | "/"
STRING: /'(?:[^']|'')*'/
QUOTED_NAME: /"(?:[^"]|"")+"/
NAME: /(?:[^\W\d]|\$)[\w$]*/
FLOAT.2: /{_FLOAT}/
INTEGER.1: /(?:0[xX][0-9a-fA-F][0-9a-fA-F_]*|0[bB][01][01_]*|[0-9][0-9_]*)[lL]?(?![\w$.])/

%import common.WS
%ignore WS
"""

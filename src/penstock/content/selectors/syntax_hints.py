"""What to say when the text is not a selector at all.

The parser knows where it stopped and what could have stood there; people want to know what they
did.  The commonest slips are recognised by the characters around the place.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.grammar import KEYWORDS

_SLIPS: Final = (
    ("==", "equality is written ="),
    ("!=", "inequality is written <>"),
    ("&&", "write AND"),
    ("||", "write OR"),
    ("!", "negation is written NOT"),
    (";", "a selector is one condition, without a semicolon"),
    ("`", "a name with special characters stands in double quotes"),
    ("#", "there are no comments"),
    ("[", "write the values of IN in round brackets"),
)

_WORDS: Final = {
    "COMPARISON": "a comparison",
    "SIGN": "+ or -",
    "SCALE": "* or /",
    "LPAR": "(",
    "RPAR": ")",
    "COMMA": "a comma",
    "STRING": "a string in single quotes",
    "$END": "the end",
}

_VALUE_TERMINALS: Final = frozenset({"NAME", "INTEGER", "STRING"})
"""Where all of these may stand, a value is what is missing."""


def syntax_error(text: str, error: UnexpectedInput) -> SelectorError:
    """The refusal that tells a person where the parser stopped and why."""
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        reason = f"{text[at]!r} cannot stand here"
        return _refusal(text, at, reason, _character_hint(text, at))
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        at = error.token.start_pos or 0
        reason = f"{str(error.token)!r} cannot stand here; expected {_listing(error.accepts)}"
        return _refusal(text, at, reason, _token_hint(text, at, error.token, error.accepts))
    accepts = error.accepts if isinstance(error, UnexpectedToken) else ()
    hint = "a bracket is not closed" if _open_brackets(text) > 0 else ""
    reason = f"it ends too early; expected {_listing(accepts)}"
    return _refusal(text, len(text.rstrip()), reason, hint)


def _refusal(text: str, at: int, reason: str, hint: str) -> SelectorError:
    before = text[:at]
    line = before.count("\n") + 1
    return SelectorError(reason, line=line, column=at - before.rfind("\n"), hint=hint)


def _character_hint(text: str, at: int) -> str:
    if text[at] == "'":
        return "the string is not closed; a quote inside a string is doubled: 'it''s'"
    if text[at] == '"':
        return "the quoted name is empty or not closed; strings stand in single quotes"
    if text[at].isdigit():
        return "a number runs into a letter; put a space between them"
    if text[at] == ".":
        return "a name that contains a point stands in double quotes"
    return _slip(text, at)


def _token_hint(text: str, at: int, token: Token, accepts: Collection[str]) -> str:
    if token.type == "NULL":
        return "compare with NULL by IS NULL or IS NOT NULL"
    if token.upper() in KEYWORDS and "NAME" in accepts:
        return f'{token.upper()} is a keyword; an attribute of that name is written "{token}"'
    if token.type == "RPAR" and _open_brackets(text[: at + 1]) < 0:
        return "no bracket is open"
    return _slip(text, at)


def _slip(text: str, at: int) -> str:
    for written, hint in _SLIPS:
        # The parser may stop at the second character of the slip, as it does for ==.
        if text.startswith(written, at) or (at > 0 and text.startswith(written, at - 1)):
            return hint
    return ""


def _open_brackets(text: str) -> int:
    outside = "".join(text.split("'")[::2])
    return outside.count("(") - outside.count(")")


def _listing(accepts: Collection[str]) -> str:
    if set(accepts) >= _VALUE_TERMINALS:
        return "a value or a condition" if "NOT" in accepts else "a value"
    words = sorted(_WORDS.get(name, name) for name in accepts)
    if len(words) > 1:
        return ", ".join(words[:-1]) + " or " + words[-1]
    return words[0] if words else "more"

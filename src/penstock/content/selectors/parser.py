"""From text to selector.

1. Limits come first and cost one pass over the text: a selector that is too long or too deeply
   bracketed is refused before any parsing.  They hold for the canonical text, too, which is what
   brokers tell each other: a selector that one broker accepts is accepted by all.
2. The grammar (grammar.py) is run by lark; a builder turns each rule into a typed node as it is
   recognised, so there is no intermediate tree and no recursion on the way.
3. Where the grammar leaves open whether an operand is a condition or a value, the builder decides
   by type, and refuses what JMS refuses: an order of strings or booleans, arithmetic on them,
   ``IN``, ``LIKE`` and ``IS NULL`` on anything but an attribute.
4. Every refusal is a ``SelectorError`` with line, column and a hint.

The empty text is the selector that matches everything.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final, cast

import msgspec
from lark import Lark
from lark.exceptions import UnexpectedInput

from penstock.content.selectors.builder import SelectorBuilder
from penstock.content.selectors.error import SelectorError
from penstock.content.selectors.expressions import Condition, walk
from penstock.content.selectors.grammar import GRAMMAR
from penstock.content.selectors.selector import EVERYTHING, Selector
from penstock.content.selectors.syntax_hints import syntax_error

KEPT_SELECTORS: Final = 4096
"""Bound on the parsed selectors that are kept: a broker parses the same texts again and again."""

_BRACKETS: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[()]")
"""Brackets, and the quoted texts in which a bracket is not one."""


class SelectorLimits(msgspec.Struct, frozen=True, gc=False):
    """How large a selector may be."""

    max_characters: int = 8192
    """A page of conditions, or some 700 values in one ``IN``; parsing it takes milliseconds."""

    max_depth: int = 64
    """Far below the interpreter's recursion limit, which evaluation relies on."""

    max_nodes: int = 1024
    """Bounds what one selector can cost for each row if nothing of it can be indexed."""


DEFAULT_LIMITS: Final = SelectorLimits()


def parse(text: str, limits: SelectorLimits = DEFAULT_LIMITS) -> Selector:
    """Read a selector; raises ``SelectorError`` if it is not one or exceeds the limits."""
    _check_length(text, limits)
    return _kept(text, limits)


def parse_anew(text: str, limits: SelectorLimits = DEFAULT_LIMITS) -> Selector:
    """The same without keeping what was read, for texts that do not come again."""
    _check_length(text, limits)
    return _parse(text, limits)


def _check_length(text: str, limits: SelectorLimits) -> None:
    if len(text) > limits.max_characters:
        raise SelectorError(
            f"it has {len(text)} characters and the limit is {limits.max_characters}",
            hint="split it into several subscriptions",
        )


@lru_cache(maxsize=KEPT_SELECTORS)
def _kept(text: str, limits: SelectorLimits) -> Selector:
    return _parse(text, limits)


def _parse(text: str, limits: SelectorLimits) -> Selector:
    if not text or text.isspace():
        return EVERYTHING
    _check_unicode(text)
    _check_brackets(text, limits)
    try:
        # The transformer makes the parser return a condition, which lark's annotation cannot say.
        condition = cast(Condition, _parser().parse(text))
    except UnexpectedInput as error:
        raise syntax_error(text, error) from None
    _check_size(condition, limits)
    selector = Selector.of(condition)
    _check_canonical(selector.text, limits)
    return selector


@cache
def _parser() -> Lark:
    return Lark(
        GRAMMAR,
        parser="lalr",
        lexer="basic",
        transformer=SelectorBuilder(),
        maybe_placeholders=False,
    )


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise SelectorError(
            f"character {error.start + 1} is half of a surrogate pair, not a character",
            hint="the text was decoded wrongly before it came here",
        ) from None


def _check_brackets(text: str, limits: SelectorLimits) -> None:
    depth = 0
    for found in _BRACKETS.finditer(text):
        if found[0] == "(":
            depth += 1
            if depth > limits.max_depth:
                before = text[: found.start()]
                raise SelectorError(
                    f"brackets are nested more than {limits.max_depth} deep",
                    line=before.count("\n") + 1,
                    column=found.start() - before.rfind("\n"),
                    hint="write AND and OR chains without brackets around each step",
                )
        elif found[0] == ")":
            depth -= 1


def _check_canonical(text: str, limits: SelectorLimits) -> None:
    """Refuse a selector whose canonical text could not be read again by the next broker."""
    if len(text) > limits.max_characters:
        raise SelectorError(
            f"its canonical form has {len(text)} characters and the limit is "
            f"{limits.max_characters}",
            hint="split it into several subscriptions",
        )
    _check_brackets(text, limits)


def _check_size(condition: Condition, limits: SelectorLimits) -> None:
    nodes = deepest = 0
    for _, depth in walk(condition):
        nodes += 1
        deepest = max(deepest, depth)
    if deepest > limits.max_depth:
        raise SelectorError(
            f"it is nested {deepest} deep and the limit is {limits.max_depth}",
            hint="each NOT, sign and arithmetic operator of a chain nests one level deeper",
        )
    if nodes > limits.max_nodes:
        raise SelectorError(
            f"it has {nodes} names, values and operators and the limit is {limits.max_nodes}",
            hint="split it into several subscriptions",
        )

"""Patterns of ``LIKE``: ``%`` stands for any run of characters, ``_`` for exactly one.

1. A pattern is a sequence of literal texts and wildcards.  A run of wildcards is put in one order,
   first every ``_``, then at most one ``%``, since ``%_%`` and ``_%`` accept the same strings; so
   equal patterns are equal tuples.
2. Matching looks for the pieces between the ``%`` from left to right and takes the first place
   where each fits; taking it is never wrong, so nothing is tried twice and a hostile pattern costs
   at most its length times the string's.
3. One pattern *includes* another when every string of the other's form has its form too.  Reading
   the other pattern symbol by symbol as if it were the string decides it.

A character is a Unicode code point.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from itertools import accumulate
from operator import or_
from typing import Final, TypeAlias

import msgspec

ESCAPE: Final = "\\"
"""The escape character of canonical text; it stands only where a pattern needs it."""

COMPILED_PATTERNS: Final = 4096
"""Bound on the compiled patterns that are kept for reuse."""

KEPT_INCLUSIONS: Final = 16_384
"""Bound on the answers about two patterns that are kept for reuse."""

MAX_TABLE_CELLS: Final = 4096
"""Two patterns of 64 characters; whether longer ones include each other is not looked into."""


class Wildcard(IntEnum):
    """What stands for characters that the pattern leaves open."""

    ONE = 1
    MANY = 2


Symbol: TypeAlias = str | Wildcard


class InvalidPattern(ValueError):
    """The pattern's escape character is used wrongly; the message says how."""


class LikePattern(msgspec.Struct, frozen=True, gc=False):
    """A pattern; make one with ``parse_pattern``."""

    elements: tuple[Symbol, ...]
    """Literal texts, never empty and never side by side, and wildcards."""

    @property
    def literal(self) -> str | None:
        """The one string that the pattern accepts, if it has no wildcard."""
        if not self.elements:
            return ""
        first = self.elements[0]
        return first if len(self.elements) == 1 and not isinstance(first, Wildcard) else None

    @property
    def leading_text(self) -> str:
        """What every accepted string starts with."""
        first = self.elements[0] if self.elements else ""
        return "" if isinstance(first, Wildcard) else first

    @property
    def trailing_text(self) -> str:
        """What every accepted string ends with."""
        last = self.elements[-1] if self.elements else ""
        return "" if isinstance(last, Wildcard) else last

    @property
    def is_prefix(self) -> bool:
        """Whether the pattern is a text and ``%``, no more."""
        return len(self.elements) == 2 and self.elements[1] is Wildcard.MANY and not self.is_open

    @property
    def is_open(self) -> bool:
        """Whether the pattern starts with a wildcard."""
        return bool(self.elements) and isinstance(self.elements[0], Wildcard)

    @property
    def least_length(self) -> int:
        """The length of the shortest accepted string."""
        return sum(
            len(each) if not isinstance(each, Wildcard) else int(each is Wildcard.ONE)
            for each in self.elements
        )

    @property
    def has_fixed_length(self) -> bool:
        """Whether all accepted strings have the same length."""
        return Wildcard.MANY not in self.elements

    def matches(self, text: str) -> bool:
        """Whether a string has this form."""
        return _compiled(self.elements).fullmatch(text) is not None

    def includes(self, other: LikePattern) -> bool:
        """Whether every string of the other's form has this form; False when in doubt."""
        return _includes(self, other)

    def excludes(self, other: LikePattern) -> bool:
        """Whether no string has both forms; False when in doubt."""
        if self.has_fixed_length and other.least_length > self.least_length:
            return True
        if other.has_fixed_length and self.least_length > other.least_length:
            return True
        start, other_start = self.leading_text, other.leading_text
        if not (start.startswith(other_start) or other_start.startswith(start)):
            return True
        end, other_end = self.trailing_text, other.trailing_text
        return not (end.endswith(other_end) or other_end.endswith(end))

    def canonical(self) -> tuple[str, str | None]:
        """The pattern as text, and the escape character if the text needs one."""
        texts = [each for each in self.elements if not isinstance(each, Wildcard)]
        escaped = any("%" in text or "_" in text for text in texts)
        parts = []
        for element in self.elements:
            if isinstance(element, Wildcard):
                parts.append("_" if element is Wildcard.ONE else "%")
            else:
                parts.append(re.sub(r"([%_\\])", r"\\\1", element) if escaped else element)
        return "".join(parts), ESCAPE if escaped else None


ANYTHING: Final = LikePattern((Wildcard.MANY,))
"""Accepts every string."""


def parse_pattern(text: str, escape: str | None = None) -> LikePattern:
    """Read a pattern as it stands in a selector, behind ``LIKE`` and ``ESCAPE``."""
    if escape is not None and len(escape) != 1:
        raise InvalidPattern(f"ESCAPE takes exactly one character, not {escape!r}")
    symbols: list[Symbol] = []
    characters = iter(text)
    for character in characters:
        if character == escape:
            following = next(characters, None)
            if following is None or following not in ("%", "_", escape):
                what = "the end of the pattern" if following is None else repr(following)
                raise InvalidPattern(
                    f"the escape character {escape!r} stands before {what}; "
                    f"it may stand only before %, _ or itself"
                )
            symbols.append(following)
        elif character == "%":
            symbols.append(Wildcard.MANY)
        elif character == "_":
            symbols.append(Wildcard.ONE)
        else:
            symbols.append(character)
    return LikePattern(_normalised(symbols))


def _normalised(symbols: list[Symbol]) -> tuple[Symbol, ...]:
    """Merge neighbouring characters into texts and order each run of wildcards."""
    elements: list[Symbol] = []
    text: list[str] = []
    run: list[Wildcard] = []

    def end_run() -> None:
        elements.extend(each for each in run if each is Wildcard.ONE)
        if Wildcard.MANY in run:
            elements.append(Wildcard.MANY)
        run.clear()

    for symbol in symbols:
        if isinstance(symbol, Wildcard):
            if text:
                elements.append("".join(text))
                text.clear()
            run.append(symbol)
        else:
            end_run()
            text.append(symbol)
    if text:
        elements.append("".join(text))
    end_run()
    return tuple(elements)


@lru_cache(maxsize=COMPILED_PATTERNS)
def _compiled(elements: tuple[Symbol, ...]) -> re.Pattern[str]:
    """A regular expression that never tries a piece at a second place (rule 2)."""
    pieces = [""]
    for element in elements:
        if element is Wildcard.MANY:
            pieces.append("")
        elif element is Wildcard.ONE:
            pieces[-1] += "."
        else:
            pieces[-1] += re.escape(str(element))
    first, *middle = pieces
    if not middle:
        return re.compile(first, re.DOTALL)
    *between, last = middle
    found = "".join(f"(?>.*?{piece})" for piece in between)
    return re.compile(f"{first}{found}.*{last}", re.DOTALL)


@lru_cache(maxsize=KEPT_INCLUSIONS)
def _includes(outer: LikePattern, inner: LikePattern) -> bool:
    """Rule 3 by a table: ``row[j]`` says whether ``outer[:i]`` includes ``inner[:j]``."""
    if outer == inner:
        return True
    if not inner.leading_text.startswith(outer.leading_text):
        return False
    outer_symbols, inner_symbols = _symbols(outer.elements), _symbols(inner.elements)
    if len(outer_symbols) * len(inner_symbols) > MAX_TABLE_CELLS:
        return False
    row = [True] + [False] * len(inner_symbols)
    for symbol in outer_symbols:
        if symbol is Wildcard.MANY:
            row = list(accumulate(row, or_))
            continue
        row = [False] + [
            before and other is not Wildcard.MANY and (symbol is Wildcard.ONE or symbol == other)
            for before, other in zip(row, inner_symbols, strict=False)
        ]
    return row[-1]


def _symbols(elements: tuple[Symbol, ...]) -> list[Symbol]:
    """The pattern with its texts split into characters."""
    return [
        symbol
        for element in elements
        for symbol in ([element] if isinstance(element, Wildcard) else list(element))
    ]

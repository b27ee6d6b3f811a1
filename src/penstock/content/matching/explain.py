"""What the index makes of a selector, for people.

``explain`` gives the canonical text and, for each box of the normal form, the constraints that the
index looks up and the conditions that are evaluated on the rows that are left.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from penstock.content.matching.normal_form import EVERY_ROW, Box, Residual, normal_form
from penstock.content.matching.number_sets import ALL_NUMBERS, BEFORE, BOTTOM, TOP, Cut, NumberSet
from penstock.content.matching.string_sets import ALL_STRINGS, Region, StringSet
from penstock.content.matching.value_classes import has_patterns
from penstock.content.matching.value_sets import ABSENT, PRESENT, ValueSet, finite_values
from penstock.content.selectors.like_pattern import LikePattern
from penstock.content.selectors.printing import condition_text, name_text, string_text
from penstock.content.selectors.selector import Selector


class Lookup(Enum):
    """How the index finds the boxes that accept a value."""

    EQUALITY = "equality"
    """The value itself is looked up."""

    RANGE = "range"
    """Binary search among all bounds on the attribute."""

    PATTERN = "pattern"
    """Each distinct string is matched once and remembered."""

    PRESENCE = "presence"
    """Whether the attribute is there decides."""

    MIXED = "mixed"
    """Values of several types, each looked up in its own way."""


class IndexedConstraint(msgspec.Struct, frozen=True):
    """What a box asks of one attribute."""

    attribute: str
    lookup: Lookup
    accepts: str


class Alternative(msgspec.Struct, frozen=True):
    """One box: a row is selected when everything in it holds."""

    indexed: tuple[IndexedConstraint, ...]
    unindexed: tuple[str, ...]


class SelectorExplanation(msgspec.Struct, frozen=True):
    """How a selector is matched."""

    text: str
    alternatives: tuple[Alternative, ...]
    matches_everything: bool
    matches_nothing: bool

    @property
    def is_fully_indexed(self) -> bool:
        """Whether the index alone decides."""
        return not any(each.unindexed for each in self.alternatives)


def explain(selector: Selector) -> SelectorExplanation:
    """How the index treats a selector."""
    boxes = normal_form(selector)
    return SelectorExplanation(
        text=selector.text,
        alternatives=tuple(_alternative(box) for box in boxes),
        matches_everything=EVERY_ROW in boxes,
        matches_nothing=not boxes,
    )


def _alternative(box: Box) -> Alternative:
    return Alternative(
        indexed=tuple(
            IndexedConstraint(name, lookup_of(wanted), f"{name_text(name)} {_described(wanted)}")
            for name, wanted in box.constraints
        ),
        unindexed=tuple(sorted(_residual_text(each) for each in box.residuals)),
    )


def lookup_of(wanted: ValueSet) -> Lookup:
    """How the index looks a constraint up."""
    if wanted in (PRESENT, ABSENT):
        return Lookup.PRESENCE
    if has_patterns(wanted.strings):
        return Lookup.PATTERN
    if finite_values(wanted) is not None:
        return Lookup.EQUALITY
    others = wanted.strings or wanted.true or wanted.false or wanted.bytes_ or wanted.absent
    return Lookup.MIXED if others else Lookup.RANGE


def _residual_text(residual: Residual) -> str:
    text = condition_text(residual.condition)
    return text if residual.wanted else f"{text} is FALSE"


def _described(wanted: ValueSet) -> str:
    if wanted == PRESENT:
        return "is present"
    parts = _string_parts(wanted.strings) + _number_parts(wanted.numbers)
    if wanted.true and wanted.false:
        parts.append("is a boolean")
    elif wanted.true or wanted.false:
        parts.append("= TRUE" if wanted.true else "= FALSE")
    if wanted.bytes_:
        parts.append("is bytes")
    if wanted.absent:
        parts.append("is absent")
    return " or ".join(parts)


def _string_parts(strings: StringSet) -> list[str]:
    if strings == ALL_STRINGS:
        return ["is a string"]
    listed = _listed([string_text(text) for text in sorted(strings.finite)])
    return listed + [_region_text(region) for region in strings.regions]


def _listed(values: list[str]) -> list[str]:
    """One value as an equality, several as a list."""
    if len(values) > 1:
        return [f"in ({', '.join(values)})"]
    return [f"= {value}" for value in values]


def _region_text(region: Region) -> str:
    asked = [f"like {text}" for text in _pattern_texts(region.likes)]
    asked += [f"not like {text}" for text in _pattern_texts(region.unlikes)]
    asked += [f"<> {string_text(text)}" for text in sorted(region.excluded)]
    return "is a string " + " and ".join(asked)


def _pattern_texts(patterns: frozenset[LikePattern]) -> list[str]:
    return sorted(string_text(pattern.canonical()[0]) for pattern in patterns)


def _number_parts(numbers: NumberSet) -> list[str]:
    if numbers == ALL_NUMBERS:
        return ["is a number"]
    intervals = numbers.intervals()
    parts = _listed([repr(low[0]) for low, high in intervals if low[0] == high[0]])
    parts += [_interval_text(low, high) for low, high in intervals if low[0] != high[0]]
    return parts + ["is NaN"] * numbers.nan


def _interval_text(low: Cut, high: Cut) -> str:
    above = f"{'>=' if low[1] == BEFORE else '>'} {low[0]!r}" if low != BOTTOM else ""
    below = f"{'<' if high[1] == BEFORE else '<='} {high[0]!r}" if high != TOP else ""
    return " and ".join(part for part in (above, below) if part) or "is a number but not NaN"

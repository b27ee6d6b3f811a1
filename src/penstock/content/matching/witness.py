"""A row that a selector selects, made up from its normal form.

A witness quickly rules out covers: a selector that does not select the witness of another cannot
cover it.  It is sought by trying a few values from each set, so there may be one that is not found;
then the answer is None and nothing is ruled out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from penstock.content.matching.normal_form import Box, normal_form
from penstock.content.matching.number_sets import NumberSet
from penstock.content.matching.string_sets import Region, StringSet
from penstock.content.matching.value_sets import ValueSet
from penstock.content.rows.columns import INTEGER_MAX, INTEGER_MIN, AttributeValue
from penstock.content.selectors.like_pattern import ANYTHING, LikePattern, Wildcard
from penstock.content.selectors.number_arithmetic import Number
from penstock.content.selectors.rowwise import selects
from penstock.content.selectors.selector import Selector


def witness(selector: Selector) -> dict[str, AttributeValue] | None:
    """A row that the selector selects, or None if none was found."""
    for box in normal_form(selector):
        row = _row_in(box)
        if row is not None and selects(selector, row):
            return row
    return None


def _row_in(box: Box) -> dict[str, AttributeValue] | None:
    row: dict[str, AttributeValue] = {}
    for name, wanted in box.constraints:
        value = some_value(wanted)
        if value is not None:
            row[name] = value
        elif not wanted.absent:
            return None
    return row


def some_value(wanted: ValueSet) -> AttributeValue | None:
    """A value from the set, or None if none was found or only absence is in it."""
    found: AttributeValue | None = _some_string(wanted.strings)
    if found is None:
        found = _some_number(wanted.numbers)
    if found is None and (wanted.true or wanted.false):
        found = wanted.true
    if found is None and wanted.bytes_:
        found = b""
    return found


def _some_string(strings: StringSet) -> str | None:
    if strings.finite:
        return min(strings.finite)
    for region in strings.regions:
        for text in _strings_to_try(region):
            if text in region:
                return text
    return None


def _strings_to_try(region: Region) -> Iterator[str]:
    """Every form with its wildcards filled in several ways; enough to evade what is excluded."""
    forms = sorted(region.likes, key=lambda pattern: pattern.canonical()) or [ANYTHING]
    for length in range(len(region.excluded) + 2):
        for filler in ("a", "~"):
            for form in forms:
                yield _filled(form, one=filler, many=filler * length)


def _filled(pattern: LikePattern, *, one: str, many: str) -> str:
    fillers = {Wildcard.ONE: one, Wildcard.MANY: many}
    return "".join(
        fillers[each] if isinstance(each, Wildcard) else each for each in pattern.elements
    )


def _some_number(numbers: NumberSet) -> Number | None:
    for (low, _), (high, _) in numbers.intervals():
        for number in _numbers_to_try(low, high):
            if number in numbers and (
                isinstance(number, float) or INTEGER_MIN <= number <= INTEGER_MAX
            ):
                return number
    return math.nan if numbers.nan else None


def _numbers_to_try(low: Number, high: Number) -> Iterator[Number]:
    """Inside the interval first, then its ends."""
    if not math.isinf(low):
        yield low + 1
    if not math.isinf(high):
        yield high - 1
    yield 0
    if not math.isinf(low) and not math.isinf(high):
        yield float(low) / 2 + float(high) / 2
    yield low
    yield high
    yield math.nextafter(float(low), math.inf)

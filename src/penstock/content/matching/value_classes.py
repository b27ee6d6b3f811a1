"""For one attribute: from a value to the boxes that accept it.

Each box of an index segment has a *slot*, a bit position.  All values that the boxes cannot tell
apart form a *class*, and each class has one row of bits: bit ``i`` is set when the box in slot
``i`` accepts values of the class.  Boxes that ask nothing of the attribute accept every class.

1. Absence, bytes, FALSE, TRUE and NaN are a class each.
2. The numbers are divided at every cut that any box has (number_sets.py).  Walking over the cuts
   in order toggles the bits of the boxes that one enters or leaves, so the rows of all classes take
   one pass.  The class of a number is the count of cuts at or below it: one binary search, on
   columns with cuts translated to exact 64-bit thresholds.
3. Every string that some box names is a class of its own; the rest is one class, as long as no box
   has a pattern.  With patterns the row of a string is worked out when it is first met and kept;
   at most ``MAX_LEARNED_STRINGS`` are kept at a time.

Rows are Python integers for single messages, and a matrix of 64-bit words for batches.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Final, cast

import numpy as np

from penstock.content.matching.number_sets import AFTER, BEFORE, BOTTOM, TOP, Cut
from penstock.content.matching.string_sets import StringSet
from penstock.content.matching.value_sets import ValueSet
from penstock.content.rows.columns import (
    INTEGER_MAX,
    INTEGER_MIN,
    Array,
    AttributeType,
    AttributeValue,
    Column,
)
from penstock.content.selectors.like_pattern import LikePattern

WORD_BITS: Final = 64

ABSENT_CLASS: Final = 0
BYTES_CLASS: Final = 1
FALSE_CLASS: Final = 2
TRUE_CLASS: Final = 3
NAN_CLASS: Final = 4
UNNAMED_STRING_CLASS: Final = 5
FIRST_NUMBER_CLASS: Final = 6

MAX_LEARNED_STRINGS: Final = 8192
"""Strings whose row is kept for one attribute of one segment; beyond, learning starts afresh.
At 4,096 slots that is 4 MiB."""

MAX_STEPS: Final = 65_536
"""Up to this many integers between the outermost thresholds a table (512 KiB) replaces the binary
search, which costs several times as much."""


class ValueClasses:
    """The classes of one attribute's values and their bit rows."""

    __slots__ = (
        "_cuts",
        "_filled",
        "_float_thresholds",
        "_integer_steps",
        "_known",
        "_named",
        "_patterns",
        "_rows",
        "_table",
        "_words",
        "name",
    )

    def __init__(self, name: str, asked: Mapping[int, ValueSet], slots: int) -> None:
        """``asked`` gives, for the slots that ask something of the attribute, what they ask."""
        self.name = name
        self._words = -(-slots // WORD_BITS)
        free = (1 << slots) - 1
        for slot in asked:
            free ^= 1 << slot
        single = [free] * FIRST_NUMBER_CLASS
        for slot, wanted in asked.items():
            bit = 1 << slot
            single[ABSENT_CLASS] |= bit if wanted.absent else 0
            single[BYTES_CLASS] |= bit if wanted.bytes_ else 0
            single[FALSE_CLASS] |= bit if wanted.false else 0
            single[TRUE_CLASS] |= bit if wanted.true else 0
            single[NAN_CLASS] |= bit if wanted.numbers.nan else 0
        self._cuts, numbers = _number_rows(free, asked)
        self._integer_steps = _IntegerSteps(_integer_thresholds(self._cuts))
        self._float_thresholds = _float_thresholds(self._cuts)
        sets = {slot: wanted.strings for slot, wanted in asked.items() if wanted.strings}
        self._patterns = _PatternRows(sets)
        named = _named_strings(free, sets)
        single[UNNAMED_STRING_CLASS] = named.pop(None)
        self._rows: list[int] = [*single, *numbers, *named.values()]
        first = FIRST_NUMBER_CLASS + len(numbers)
        self._named: dict[str, int] = {
            text: first + at for at, text in enumerate(named) if text is not None
        }
        # With patterns a string's class is only known once it was learned.
        self._known: dict[str, int] = {} if self._patterns else self._named
        self._table: Array = np.zeros((0, self._words), "<u8")
        self._filled = 0

    def row_of(self, value: AttributeValue | None) -> int:
        """The bits of the boxes that accept one value, or None for absence."""
        match value:
            case None:
                return self._rows[ABSENT_CLASS]
            case str():
                return self._rows[self._class_of_string(value)]
            case bool():
                return self._rows[TRUE_CLASS if value else FALSE_CLASS]
            case bytes():
                return self._rows[BYTES_CLASS]
            case number if number == number:
                return self._rows[FIRST_NUMBER_CLASS + bisect_right(self._cuts, (number, BEFORE))]
            case _:
                return self._rows[NAN_CLASS]

    def classify(self, columns: Sequence[Column], rows: int) -> int | Array:
        """The class of each row of a batch; one number where all rows have the same."""
        if not columns:
            return ABSENT_CLASS
        if len(columns) == 1 and columns[0].present is None:
            return self._classify_column(columns[0])
        classes = np.full(rows, ABSENT_CLASS, np.intp)
        for column in columns:
            found = self._classify_column(column)
            if column.present is None:
                classes[:] = found
            elif isinstance(found, int):
                classes[column.present] = found
            else:
                np.copyto(classes, found, where=column.present)
        return classes

    def table(self) -> Array:
        """The rows of all classes as a matrix of words; valid until the next ``classify``."""
        count = len(self._rows)
        if self._filled < count:
            if count > len(self._table):
                # Doubling keeps the copying in proportion to what is learned.
                grown = np.zeros((max(count, 2 * self._filled), self._words), "<u8")
                grown[: self._filled] = self._table[: self._filled]
                self._table = grown
            size = 8 * self._words
            news = b"".join(row.to_bytes(size, "little") for row in self._rows[self._filled :])
            self._table[self._filled : count] = np.frombuffer(news, "<u8").reshape(-1, self._words)
            self._filled = count
        return self._table

    def _classify_column(self, column: Column) -> int | Array:
        match column.kind:
            case AttributeType.STRING:
                texts = cast("Sequence[str]", column.dictionary)
                classes = self._classes_of_strings(texts)
                return int(classes[0]) if len(texts) == 1 else classes.take(column.values)
            case AttributeType.INT:
                return self._integer_steps.classes(column.values)
            case AttributeType.FLOAT:
                found = _searched(self._float_thresholds, column.values)
                found[np.isnan(column.values)] = NAN_CLASS
                return found
            case AttributeType.BOOL:
                return column.values.astype(np.intp) + FALSE_CLASS
            case AttributeType.BYTES:
                return BYTES_CLASS

    def _classes_of_strings(self, texts: Sequence[str]) -> Array:
        count = len(texts)
        if not self._patterns:
            known = map(self._known.get, texts, repeat(UNNAMED_STRING_CLASS))
            return np.fromiter(known, np.intp, count)
        try:
            return np.fromiter(map(self._known.__getitem__, texts), np.intp, count)
        except KeyError:
            self._learn(texts)
            return np.fromiter(map(self._known.__getitem__, texts), np.intp, count)

    def _class_of_string(self, text: str) -> int:
        if self._patterns and text not in self._known:
            self._learn((text,))
        return self._known.get(text, UNNAMED_STRING_CLASS)

    def _learn(self, texts: Sequence[str]) -> None:
        if len(self._known) + len(texts) > MAX_LEARNED_STRINGS:
            self._forget_learned()
        for text in texts:
            if text not in self._known:
                base = self._rows[self._named.get(text, UNNAMED_STRING_CLASS)]
                self._known[text] = len(self._rows)
                self._rows.append(base | self._patterns.row_of(text))

    def _forget_learned(self) -> None:
        built = len(self._rows) - len(self._known)
        self._known.clear()
        del self._rows[built:]
        self._filled = min(self._filled, built)


def _searched(thresholds: Array, values: Array) -> Array:
    """Classes by binary search; in ascending order of the values it takes half the time."""
    order = values.argsort()
    classes = np.empty(len(values), np.intp)
    classes[order] = thresholds.searchsorted(values[order], "right") + FIRST_NUMBER_CLASS
    return classes


class _IntegerSteps:
    """From integers to classes: by a table where the thresholds lie close, else by search."""

    __slots__ = ("_before_first", "_behind_last", "_steps", "_thresholds")

    def __init__(self, thresholds: Array) -> None:
        self._thresholds = thresholds
        self._steps: Array | None = None
        if not len(thresholds):
            return
        first, last = int(thresholds[0]), int(thresholds[-1])
        if first > INTEGER_MIN and last < INTEGER_MAX and last - first <= MAX_STEPS:
            # One entry for every integer between the thresholds, and one for all below them.
            self._before_first, self._behind_last = first - 1, last
            span = np.arange(first - 1, last + 1)
            self._steps = thresholds.searchsorted(span, "right") + FIRST_NUMBER_CLASS

    def classes(self, values: Array) -> int | Array:
        if not len(self._thresholds):
            return FIRST_NUMBER_CLASS
        if self._steps is None:
            return _searched(self._thresholds, values)
        at = np.minimum(values, self._behind_last)
        np.maximum(at, self._before_first, out=at)
        at -= self._before_first
        return self._steps.take(at, mode="clip")


class _PatternRows:
    """The boxes whose strings are decided by patterns; plain prefixes are looked up by length."""

    __slots__ = ("_others", "_prefixes")

    def __init__(self, sets: Mapping[int, StringSet]) -> None:
        self._prefixes: dict[int, dict[str, int]] = {}
        self._others: dict[StringSet, int] = {}
        for slot, wanted in sets.items():
            if not has_patterns(wanted):
                continue
            pattern = _lone_prefix(wanted)
            if pattern is None:
                self._others[wanted] = self._others.get(wanted, 0) | 1 << slot
            else:
                text = pattern.leading_text
                same_length = self._prefixes.setdefault(len(text), {})
                same_length[text] = same_length.get(text, 0) | 1 << slot

    def __bool__(self) -> bool:
        return bool(self._prefixes or self._others)

    def row_of(self, text: str) -> int:
        row = 0
        for length, prefixes in self._prefixes.items():
            row |= prefixes.get(text[:length], 0)
        for wanted, bits in self._others.items():
            if text in wanted:
                row |= bits
        return row


def has_patterns(strings: StringSet) -> bool:
    """Whether a set of strings can be decided only by matching a pattern."""
    return any(region.patterns for region in strings.regions)


def _lone_prefix(strings: StringSet) -> LikePattern | None:
    """The pattern, if the set is all strings with a certain beginning and nothing else."""
    if strings.finite or len(strings.regions) != 1:
        return None
    region = strings.regions[0]
    if region.unlikes or region.excluded or len(region.likes) != 1:
        return None
    (pattern,) = region.likes
    return pattern if pattern.is_prefix else None


def _number_rows(free: int, asked: Mapping[int, ValueSet]) -> tuple[list[Cut], list[int]]:
    """All cuts in order, and the rows of the classes before, between and after them."""
    toggles: dict[Cut, int] = {}
    for slot, wanted in asked.items():
        for cut in wanted.numbers.cuts:
            toggles[cut] = toggles.get(cut, 0) ^ 1 << slot
    row = free ^ toggles.pop(BOTTOM, 0)
    toggles.pop(TOP, 0)
    cuts = sorted(toggles)
    rows = [row]
    for cut in cuts:
        row ^= toggles[cut]
        rows.append(row)
    return cuts, rows


def _named_strings(free: int, sets: Mapping[int, StringSet]) -> dict[str | None, int]:
    """The row of each string that a box names, and under None that of all others.

    Boxes that are decided by patterns are left out: their bits are added when a string is learned.
    """
    others = free
    naming: dict[str, list[int]] = {}
    for slot, wanted in sets.items():
        if has_patterns(wanted):
            continue
        if wanted.regions:
            others |= 1 << slot
        for text in sorted(wanted.finite.union(*(region.excluded for region in wanted.regions))):
            naming.setdefault(text, []).append(slot)
    rows: dict[str | None, int] = {None: others}
    for text, slots in naming.items():
        bits = sum(1 << slot for slot in slots)
        held = sum(1 << slot for slot in slots if text in sets[slot])
        rows[text] = others & ~bits | held
    return rows


def _integer_thresholds(cuts: Iterable[Cut]) -> Array:
    """For each cut the least integer above it; the cuts above all 64-bit integers are left out."""
    thresholds: list[int] = []
    for number, side in cuts:
        if number == math.inf:
            break
        least = INTEGER_MIN
        if number != -math.inf:
            least = math.ceil(number) if side == BEFORE else math.floor(number) + 1
        if least > INTEGER_MAX:
            break
        thresholds.append(max(least, INTEGER_MIN))
    return np.array(thresholds, np.int64)


def _float_thresholds(cuts: Iterable[Cut]) -> Array:
    """For each cut the least float above it."""
    thresholds: list[float] = []
    for number, side in cuts:
        nearest = float(number)
        if nearest < number or (nearest == number and side == AFTER):
            nearest = math.nextafter(nearest, math.inf)
        thresholds.append(nearest)
    return np.array(thresholds, np.float64)

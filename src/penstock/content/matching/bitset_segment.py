"""A bitset index over a fixed list of boxes.

Every box has a slot, a bit.  For each attribute that any box constrains there is a table from the
class of a value to the bits of the boxes that accept it (value_classes.py).  A row's boxes are the
AND of one table row for each attribute:

    bits(row) = alive AND table[a][class of row's a] AND table[b][class of row's b] AND …

On a batch this is one gather and one AND of a matrix (rows × words) for each attribute, however
many boxes there are; an attribute that is the same in all rows costs one AND of a single row.  On
a single row it is the same with Python integers as bit sets, which costs well under a microsecond
for each attribute.  Boxes with residual conditions are candidates after that, and the conditions
are evaluated for the whole batch, each distinct one once.

Boxes are taken out by clearing their ``alive`` bit and never added: the index (selector_index.py)
builds a new segment instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from penstock.content.matching.normal_form import Box, Residual
from penstock.content.matching.value_classes import WORD_BITS, ValueClasses
from penstock.content.matching.value_sets import ValueSet
from penstock.content.rows.columns import Array, Mask
from penstock.content.rows.row_view import Row
from penstock.content.selectors.rowwise import evaluate
from penstock.content.selectors.vectorised import BatchEvaluator

ROWS_AT_ONCE: Final = 1024
"""Rows of a batch that are gathered together: the matrices of a full segment (4,096 boxes) take
half a megabyte each and stay in a core's cache, however large the batch is."""


class SlottedBox(NamedTuple):
    """A box and the ordinal of the subscription that it belongs to."""

    ordinal: int
    box: Box


class Scratch:
    """Two matrices of words that all segments of an index use in turn."""

    __slots__ = ("_buffers",)

    def __init__(self) -> None:
        """Empty at first; grows to the largest part of a batch that was matched."""
        self._buffers = (np.empty(0, np.uint64), np.empty(0, np.uint64))

    def matrices(self, rows: int, words: int) -> tuple[Array, Array]:
        """Two matrices of this shape with arbitrary contents, until the next call."""
        size = rows * words
        if len(self._buffers[0]) < size:
            self._buffers = (np.empty(size, np.uint64), np.empty(size, np.uint64))
        first, second = self._buffers
        return first[:size].reshape(rows, words), second[:size].reshape(rows, words)


class BitsetSegment:
    """An index over a list of boxes, from which boxes can be taken out."""

    __slots__ = (
        "_alive",
        "_alive_words",
        "_attributes",
        "_conditional_words",
        "_conditions",
        "_ordinals",
        "boxes",
        "living",
    )

    def __init__(self, boxes: Sequence[SlottedBox]) -> None:
        """The box at position ``i`` gets slot ``i``."""
        self.boxes = tuple(boxes)
        self.living = len(boxes)
        self._ordinals = np.array([each.ordinal for each in boxes], np.int64)
        self._alive = (1 << len(boxes)) - 1
        asked: dict[str, dict[int, ValueSet]] = {}
        self._conditions: dict[int, tuple[Residual, ...]] = {}
        for slot, (_, box) in enumerate(boxes):
            for name, wanted in box.constraints:
                asked.setdefault(name, {})[slot] = wanted
            if box.residuals:
                self._conditions[slot] = tuple(box.residuals)
        self._attributes = [
            ValueClasses(name, asked[name], len(boxes)) for name in _most_selective_first(asked)
        ]
        self._alive_words = self._as_words(self._alive)
        self._conditional_words = self._as_words(sum(1 << slot for slot in self._conditions))

    def kill(self, slot: int) -> None:
        """Take a box out."""
        self._alive &= ~(1 << slot)
        self._alive_words = self._as_words(self._alive)
        if self._conditions.pop(slot, None) is not None:
            self._conditional_words = self._as_words(sum(1 << each for each in self._conditions))
        self.living -= 1

    def living_boxes(self) -> list[SlottedBox]:
        """The boxes that were not taken out."""
        return [each for slot, each in enumerate(self.boxes) if self._alive >> slot & 1]

    def accepts(self, row: Row) -> bool:
        """Whether any box holds a single row."""
        bits = self._candidates(row)
        if not bits or not self._conditions:
            return bool(bits)
        return any(self._meets_conditions(slot, row) for slot in _slots(bits))

    def ordinals_accepting(self, row: Row) -> list[int]:
        """The subscriptions of all boxes that hold a single row, with repetitions."""
        return [
            self.boxes[slot].ordinal
            for slot in _slots(self._candidates(row))
            if self._meets_conditions(slot, row)
        ]

    def any_box(self, batch: BatchEvaluator, rows: int, scratch: Scratch) -> Mask | None:
        """The rows that any box holds; None where that is soon known to be none of them."""
        found: Mask | None = None
        for part, matrix in self._matrices(batch, rows, scratch):
            if found is None:
                found = np.zeros(rows, np.bool_)
            if self._conditions:
                found[part] = (matrix & ~self._conditional_words).any(axis=1)
                self._add_conditional(found[part], matrix, part, batch)
            else:
                found[part] = matrix.any(axis=1)
        return found

    def pairs(
        self, batch: BatchEvaluator, rows: int, scratch: Scratch
    ) -> Iterator[tuple[Array, Array]]:
        """The subscription and the row of every (box, row) that fits, with repetitions."""
        for part, matrix in self._matrices(batch, rows, scratch):
            if len(matrix) == 1:
                matrix = np.repeat(matrix, part.stop - part.start, axis=0)
            for slot in self._conditions:
                if _bit_column(matrix, slot).any():
                    word, bit = divmod(slot, WORD_BITS)
                    refused = ~self._condition_rows(slot, batch)[part]
                    matrix[refused, word] &= ~np.uint64(1 << bit)
            row_of_bit, slot_of_bit = _set_bits(matrix)
            yield self._ordinals[slot_of_bit], row_of_bit + part.start

    def _matrices(
        self, batch: BatchEvaluator, rows: int, scratch: Scratch
    ) -> Iterator[tuple[slice, Array]]:
        """Candidate bits, part by part of the batch: a row of words for each row, or one for all.

        A matrix with several rows may be written to; it holds until the next one is asked for.
        """
        common = self._alive_words
        varying: list[tuple[Array, Array]] = []
        for attribute in self._attributes:
            classes = attribute.classify(batch.columns(attribute.name), rows)
            if isinstance(classes, int):
                common = common & attribute.table()[classes]
            else:
                varying.append((attribute.table(), classes))
        if not common.any():
            return
        if not varying:
            yield slice(0, rows), common.reshape(1, -1)
            return
        everybody = common is self._alive_words and self.living == len(self.boxes)
        for start in range(0, rows, ROWS_AT_ONCE):
            part = slice(start, min(start + ROWS_AT_ONCE, rows))
            matrix = _gathered([(table, each[part]) for table, each in varying], scratch)
            if not everybody:
                np.bitwise_and(matrix, common, out=matrix)
            yield part, matrix

    def _add_conditional(
        self, found: Mask, matrix: Array, part: slice, batch: BatchEvaluator
    ) -> None:
        """Add the rows that boxes with conditions hold, asking only where one is still missing."""
        for slot in self._conditions:
            candidates = _bit_column(matrix, slot) & ~found
            if candidates.any():
                found |= candidates & self._condition_rows(slot, batch)[part]

    def _candidates(self, row: Row) -> int:
        bits = self._alive
        for attribute in self._attributes:
            bits &= attribute.row_of(row.get(attribute.name))
            if not bits:
                break
        return bits

    def _meets_conditions(self, slot: int, row: Row) -> bool:
        conditions = self._conditions.get(slot, ())
        return all(evaluate(each.condition, row) is each.wanted for each in conditions)

    def _condition_rows(self, slot: int, batch: BatchEvaluator) -> Mask:
        first, *others = self._conditions[slot]
        rows = batch.rows(first.condition, wanted=first.wanted)
        for each in others:
            rows = rows & batch.rows(each.condition, wanted=each.wanted)
        return rows

    def _as_words(self, bits: int) -> Array:
        words = -(-len(self.boxes) // WORD_BITS)
        return np.frombuffer(bits.to_bytes(8 * words, "little"), "<u8")


def _most_selective_first(asked: Mapping[str, Mapping[int, ValueSet]]) -> list[str]:
    """Attributes that most boxes constrain come first: single rows are rejected early."""
    return sorted(asked, key=lambda name: (-len(asked[name]), name))


def _gathered(varying: list[tuple[Array, Array]], scratch: Scratch) -> Array:
    """The AND of one table row for each attribute, for each row of the batch."""
    (table, classes), *others = varying
    matrix, gathered = scratch.matrices(len(classes), table.shape[1])
    # Classes are within bounds by construction; "clip" spares numpy a buffered copy.
    table.take(classes, axis=0, out=matrix, mode="clip")
    for table, classes in others:
        table.take(classes, axis=0, out=gathered, mode="clip")
        np.bitwise_and(matrix, gathered, out=matrix)
    return matrix


def _bit_column(matrix: Array, slot: int) -> Mask:
    word, bit = divmod(slot, WORD_BITS)
    column: Mask = (matrix[:, word] & np.uint64(1 << bit)) != 0
    return column


def _set_bits(matrix: Array) -> tuple[Array, Array]:
    """Row and slot of every set bit; only words with any bit are looked into."""
    flat = matrix.ravel()
    occupied = np.flatnonzero(flat)
    bits = np.unpackbits(flat[occupied].view(np.uint8), bitorder="little").view(np.bool_)
    at = np.flatnonzero(bits)
    row, word = np.divmod(occupied, matrix.shape[1])
    which = at // WORD_BITS
    return row[which], word[which] * WORD_BITS + at % WORD_BITS


def _slots(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

"""Many selectors, matched against batches at once.

1. A selector is kept as its boxes (normal_form.py).  One whose boxes include every row is kept
   apart, so a link with such a subscription answers without looking at the batch.
2. Boxes live in *segments* (bitset_segment.py), which are built once.  What was added since waits
   in a small open segment that is rebuilt when it is next needed; when it passes ``OPEN_BOXES`` it
   is merged with every segment that is not larger than what is merged already.  A box is therefore
   moved a number of times that grows with the logarithm of the index's size.
3. Removing clears a bit; a segment with more dead boxes than living ones is rebuilt.
4. A segment holds at most ``SEGMENT_BOXES``, which bounds its tables, and boxes on the same
   attributes are put into the same segment, which then looks at fewer attributes.
5. Batches of up to ``FEW_ROWS`` rows are matched row by row with bit sets in Python integers: numpy
   would spend more time on its calls than on the rows.
6. Outcomes of the last ``KEPT_OUTCOMES`` batches are kept until the index changes, because the same
   immutable batch is often matched again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

import numpy as np

from penstock.content.matching.bitset_segment import BitsetSegment, Scratch, SlottedBox
from penstock.content.matching.matches import NO_ROWS, Matches
from penstock.content.matching.normal_form import EVERY_ROW, normal_form
from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import Array, Mask
from penstock.content.rows.row_view import Row, rows_of
from penstock.content.selectors.selector import Selector
from penstock.content.selectors.vectorised import BatchEvaluator

OPEN_BOXES: Final = 128
"""Rebuilding the open segment stays at about half a millisecond."""

SEGMENT_BOXES: Final = 4096
"""Tables of at most 64 words a row: two matrices for a batch of 512 fit a core's cache."""

FEW_ROWS: Final = 8
"""Up to here rows are matched one by one."""

KEPT_OUTCOMES: Final = 8
"""How many batches an index may keep alive for the sake of being asked again."""

_Outcome = TypeVar("_Outcome")


class SelectorIndex:
    """Selectors under integer keys, and which rows of a batch they select."""

    __slots__ = (
        "_any_outcomes",
        "_current",
        "_everything",
        "_free_ordinals",
        "_key_of_ordinal",
        "_ordinals",
        "_outcomes",
        "_places",
        "_scratch",
        "_segments",
        "_selectors",
        "_waiting",
    )

    def __init__(self, selectors: Iterable[tuple[int, Selector]] = ()) -> None:
        """Start with these keys and selectors."""
        self._selectors: dict[int, Selector] = {}
        self._everything: dict[int, None] = {}
        # A key's boxes carry its ordinal, a small number, which can be sorted together with a row.
        self._ordinals: dict[int, int] = {}
        self._key_of_ordinal: list[int] = []
        self._free_ordinals: list[int] = []
        self._waiting: dict[int, tuple[SlottedBox, ...]] = {}
        self._segments: list[BitsetSegment] = []
        self._current: list[BitsetSegment] | None = None
        self._places: dict[int, list[tuple[BitsetSegment, int]]] = {}
        self._scratch = Scratch()
        self._any_outcomes: _RecentOutcomes[Mask | bool] = _RecentOutcomes()
        self._outcomes: _RecentOutcomes[Matches] = _RecentOutcomes()
        for key, selector in selectors:
            self.add(key, selector)

    def __len__(self) -> int:
        """How many selectors there are."""
        return len(self._selectors)

    def __contains__(self, key: int) -> bool:
        """Whether there is a selector under this key."""
        return key in self._selectors

    def add(self, key: int, selector: Selector) -> None:
        """Put a selector under a key that is not in use."""
        if key in self._selectors:
            holder = self._selectors[key].text
            raise ValueError(f"key {key} is in use for the selector {holder!r}; remove it first")
        self._selectors[key] = selector
        boxes = normal_form(selector)
        if EVERY_ROW in boxes:
            self._everything[key] = None
        elif boxes:
            ordinal = self._new_ordinal(key)
            self._waiting[key] = tuple(SlottedBox(ordinal, box) for box in boxes)
        self._changed()

    def remove(self, key: int) -> None:
        """Take the selector under a key out; raises ``KeyError`` if there is none."""
        del self._selectors[key]
        self._everything.pop(key, None)
        self._waiting.pop(key, None)
        for segment, slot in self._places.pop(key, ()):
            segment.kill(slot)
        ordinal = self._ordinals.pop(key, None)
        if ordinal is not None:
            self._free_ordinals.append(ordinal)
        self._changed()

    def selector(self, key: int) -> Selector:
        """The selector under a key."""
        return self._selectors[key]

    def match_any(self, batch: Batch) -> Mask | bool:
        """The rows that any selector selects: True for all of them, False for none, or a mask."""
        if self._everything:
            return True
        if not self._selectors or not len(batch):
            return False
        outcome = self._any_outcomes.get(batch)
        if outcome is None:
            few = len(batch) <= FEW_ROWS
            outcome = self._any_of_few(batch) if few else self._any_of_many(batch)
            if not isinstance(outcome, bool):
                # It will be handed out again.
                outcome.setflags(write=False)
            self._any_outcomes.keep(batch, outcome)
        return outcome

    def match(self, batch: Batch) -> Matches:
        """Which keys get which rows."""
        outcome = self._outcomes.get(batch)
        if outcome is None and not self._current_segments():
            outcome = Matches(len(batch), tuple(self._everything), (), (0,), NO_ROWS)
        elif outcome is None:
            few = len(batch) <= FEW_ROWS
            outcome = self._matches_of_few(batch) if few else self._matches_of_many(batch)
            self._outcomes.keep(batch, outcome)
        return outcome

    def match_row(self, row: Row) -> list[int]:
        """The keys that get a single row with these attributes, ascending."""
        found = dict.fromkeys(self._everything)
        for segment in self._current_segments():
            for ordinal in segment.ordinals_accepting(row):
                found[self._key_of_ordinal[ordinal]] = None
        return sorted(found)

    def _any_of_few(self, batch: Batch) -> Mask | bool:
        segments = self._current_segments()
        found = [any(segment.accepts(row) for segment in segments) for row in rows_of(batch)]
        if all(found):
            return True
        return np.array(found) if any(found) else False

    def _any_of_many(self, batch: Batch) -> Mask | bool:
        rows = len(batch)
        evaluator = BatchEvaluator(batch)
        found = [
            mask
            for segment in self._current_segments()
            if (mask := segment.any_box(evaluator, rows, self._scratch)) is not None
        ]
        if not found:
            return False
        mask = np.logical_or.reduce(found) if len(found) > 1 else found[0]
        count = int(np.count_nonzero(mask))
        return mask if 0 < count < rows else count == rows

    def _matches_of_few(self, batch: Batch) -> Matches:
        segments = self._current_segments()
        rows_of_ordinal: dict[int, list[int]] = {}
        for number, row in enumerate(rows_of(batch)):
            for segment in segments:
                for ordinal in segment.ordinals_accepting(row):
                    found = rows_of_ordinal.setdefault(ordinal, [])
                    # A selector with several boxes may hold a row more than once.
                    if not found or found[-1] != number:
                        found.append(number)
        keys: list[int] = []
        bounds = [0]
        rows: list[int] = []
        for ordinal in sorted(rows_of_ordinal):
            keys.append(self._key_of_ordinal[ordinal])
            rows += rows_of_ordinal[ordinal]
            bounds.append(len(rows))
        everything = tuple(self._everything)
        return Matches(len(batch), everything, keys, bounds, np.array(rows, np.int64))

    def _matches_of_many(self, batch: Batch) -> Matches:
        evaluator = BatchEvaluator(batch)
        found = [
            pairs
            for segment in self._current_segments()
            for pairs in segment.pairs(evaluator, len(batch), self._scratch)
        ]
        if not found:
            return self._grouped(len(batch), np.zeros(0, np.int64), np.zeros(0, np.int64))
        ordinals, rows = zip(*found, strict=True)
        return self._grouped(len(batch), np.concatenate(ordinals), np.concatenate(rows))

    def _grouped(self, batch_rows: int, ordinals: Array, rows: Array) -> Matches:
        """Sort by key, then row, and drop the repetitions of selectors with several boxes."""
        everything = tuple(self._everything)
        if not len(ordinals):
            return Matches(batch_rows, everything, (), (0,), rows)
        # One integer holds both, so that one sort serves; a power of two takes them apart quickly.
        row_bits = batch_rows.bit_length()
        together = np.sort(ordinals << row_bits | rows)
        together = together[np.concatenate(((True,), together[1:] != together[:-1]))]
        ordinals, rows = together >> row_bits, together & (1 << row_bits) - 1
        starts = np.flatnonzero(np.concatenate(((True,), ordinals[1:] != ordinals[:-1])))
        keys = [self._key_of_ordinal[ordinal] for ordinal in ordinals[starts].tolist()]
        return Matches(batch_rows, everything, keys, [*starts.tolist(), len(rows)], rows)

    def _new_ordinal(self, key: int) -> int:
        if self._free_ordinals:
            ordinal = self._free_ordinals.pop()
            self._key_of_ordinal[ordinal] = key
        else:
            ordinal = len(self._key_of_ordinal)
            self._key_of_ordinal.append(key)
        self._ordinals[key] = ordinal
        return ordinal

    def _changed(self) -> None:
        self._current = None
        self._any_outcomes.clear()
        self._outcomes.clear()

    def _current_segments(self) -> list[BitsetSegment]:
        """The segments with everything that was added and removed taken into account."""
        if self._current is None:
            waiting = [box for boxes in self._waiting.values() for box in boxes]
            sparse = [each for each in self._segments if 2 * each.living < len(each.boxes)]
            if sparse or len(waiting) > OPEN_BOXES:
                self._merge(waiting, sparse)
                waiting = []
            opened = [BitsetSegment(waiting)] if waiting else []
            self._current = self._segments + opened
        return self._current

    def _merge(self, boxes: list[SlottedBox], sparse: list[BitsetSegment]) -> None:
        """Rebuild the sparse segments, what waits, and every segment that is not larger."""
        kept: list[BitsetSegment] = []
        for segment in sorted(self._segments, key=lambda each: each.living):
            if segment in sparse or segment.living <= min(len(boxes), SEGMENT_BOXES // 2):
                boxes += segment.living_boxes()
            else:
                kept.append(segment)
        boxes.sort(key=_attributes_asked)
        self._waiting.clear()
        built = [
            BitsetSegment(boxes[at : at + SEGMENT_BOXES])
            for at in range(0, len(boxes), SEGMENT_BOXES)
        ]
        self._segments = kept + built
        self._note_places(boxes, kept, built)

    def _note_places(
        self,
        moved: list[SlottedBox],
        kept: list[BitsetSegment],
        built: list[BitsetSegment],
    ) -> None:
        for key in dict.fromkeys(self._key_of_ordinal[each.ordinal] for each in moved):
            before = self._places.get(key, ())
            self._places[key] = [place for place in before if place[0] in kept]
        for segment in built:
            for slot, each in enumerate(segment.boxes):
                self._places[self._key_of_ordinal[each.ordinal]].append((segment, slot))


class _RecentOutcomes(Generic[_Outcome]):
    """The outcomes of the batches that were matched last, by identity of the batch."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[int, tuple[Batch, _Outcome]] = OrderedDict()

    def get(self, batch: Batch) -> _Outcome | None:
        # The batch is held together with its outcome, so its identity cannot be reused meanwhile.
        found = self._kept.get(id(batch))
        return None if found is None else found[1]

    def keep(self, batch: Batch, outcome: _Outcome) -> None:
        self._kept[id(batch)] = (batch, outcome)
        if len(self._kept) > KEPT_OUTCOMES:
            self._kept.popitem(last=False)

    def clear(self) -> None:
        self._kept.clear()


def _attributes_asked(box: SlottedBox) -> tuple[str, ...]:
    return tuple(name for name, _ in box.box.constraints)

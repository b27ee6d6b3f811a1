"""When one selector makes another superfluous.

``covers(wide, narrow)`` says that every row which ``narrow`` selects is selected by ``wide`` too.

1. Both are unions of boxes (normal_form.py).  It is so when every box of the narrow one lies in the
   union of the wide one's boxes.
2. To find out, the wide boxes are subtracted from the narrow box one after another.  Subtracting
   leaves at most one piece for each attribute that the wide box constrains, and nothing when the
   narrow box lies within.
3. Residual conditions of the narrow box only make it smaller, so they may be forgotten; those of a
   wide box must all be asked by the narrow one too, or the wide box proves nothing.
4. Every doubt (a set of strings that may or may not be empty, more than ``MAX_SUBTRACTIONS`` steps)
   is answered with False.  So an answer of True is always right, and False may be too cautious.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from penstock.content.matching.normal_form import Box, Boxes, normal_form
from penstock.content.matching.string_sets import TooComplicated
from penstock.content.selectors.selector import Selector

MAX_SUBTRACTIONS: Final = 64
"""A cover that people would recognise takes a handful."""

KEPT_ANSWERS: Final = 16_384
"""Bound on the answers that are kept: links are asked about the same pairs again and again."""


class _OutOfSteps(Exception):
    """The question is too complicated to be decided."""


@lru_cache(maxsize=KEPT_ANSWERS)
def covers(wide: Selector, narrow: Selector) -> bool:
    """Whether ``wide`` surely selects every row that ``narrow`` selects."""
    if wide.matches_everything or wide.text == narrow.text:
        return True
    search = _Search()
    wide_boxes = normal_form(wide)
    try:
        return all(search.lies_within(box, wide_boxes) for box in normal_form(narrow))
    except (_OutOfSteps, TooComplicated):
        return False


class _Search:
    """One question, with a bound on the steps that answering it may take."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps = 0

    def lies_within(self, box: Box, wide_boxes: Boxes) -> bool:
        """Rule 2."""
        for at, wide in enumerate(wide_boxes):
            if not wide.residuals <= box.residuals or (box & wide) is None:
                continue
            self._steps += 1
            if self._steps > MAX_SUBTRACTIONS:
                raise _OutOfSteps
            others = wide_boxes[at + 1 :]
            return all(self.lies_within(piece, others) for piece in _difference(box, wide))
        return False


def _difference(box: Box, wide: Box) -> list[Box]:
    """Disjoint boxes that together are what lies in ``box`` and not in ``wide``."""
    pieces: list[Box] = []
    rest = dict(box.constraints)
    for name, allowed in wide.constraints:
        asked = box.constraint(name)
        outside = asked - allowed
        if outside:
            pieces.append(Box(tuple(sorted((rest | {name: outside}).items())), box.residuals))
        # What lies outside along this attribute is dealt with; the next piece stays inside it.
        rest[name] = asked & allowed
    return pieces

"""Which flows a message is part of.

1. A selector that asks only for values (``topic = 5``, ``kind IN ('a', 'b') AND size = 7``) is a
   list of choices, each a tuple of values of some attributes.  A dictionary for each set of
   attributes finds the flows of a message's values: exactly, and in one look-up.
2. All other selectors (ranges, patterns, absence, comparisons of attributes) and those with more
   than ``MOST_CHOICES`` choices are in a ``SelectorIndex``, whose answers are kept.  So are those
   whose set of attributes is one more than ``MOST_SHAPES``: every set costs a look-up a message.
3. Numbers are equal as selectors compare them: 1 and 1.0 are one value, and true is another.
   Python's equality takes true for 1, so truths have keys of their own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import product
from math import prod
from typing import Final, TypeAlias, cast

from penstock.content.matching.index import SelectorIndex
from penstock.content.matching.normal_form import Boxes
from penstock.content.matching.value_sets import finite_values
from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.selector import Selector
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.messages import Attribute

MOST_CHOICES: Final = 16
"""As many as an encoding has alternatives."""

MOST_SHAPES: Final = 16
"""So many look-ups take about as long as one in the index."""

Names: TypeAlias = tuple[str, ...]
Choice: TypeAlias = tuple[Names, Hashable]
"""Names of attributes, in order, and the key of their values."""

Slots: TypeAlias = int | tuple[int, ...]
"""One slot, as nearly always, or several."""

TRUTHS: Final[dict[bool, Hashable]] = {True: ("true",), False: ("false",)}


def _key(value: AttributeValue | None) -> Hashable:
    return TRUTHS[value] if value is True or value is False else value


def choices_of(boxes: Boxes) -> list[Choice] | None:
    """The choices of a selector (rule 1); None if it is none of these."""
    found: dict[Choice, None] = {}
    for box in boxes:
        values = [finite_values(wanted) for _, wanted in box.constraints]
        if box.residuals or not values:
            return None
        listed = [each for each in values if each is not None]
        if len(listed) < len(values) or prod(map(len, listed)) > MOST_CHOICES:
            return None
        names = tuple(name for name, _ in box.constraints)
        for some in product(*listed):
            # A single value is its own key, which saves a tuple.
            key = _key(some[0]) if len(some) == 1 else tuple(map(_key, some))
            found[names, key] = None
    return list(found) if len(found) <= MOST_CHOICES else None


def _several(slots: Slots) -> tuple[int, ...]:
    return slots if isinstance(slots, tuple) else (slots,)


class FlowMatch:
    """Slots of flows, by what their selectors ask for."""

    __slots__ = (
        "_answers",
        "_by_value",
        "_by_values",
        "_choice_of",
        "_choices_of",
        "_has_others",
        "_names",
        "_others",
    )

    def __init__(self) -> None:
        self._by_value: dict[str, dict[Hashable, Slots]] = {}
        self._by_values: dict[Names, dict[Hashable, Slots]] = {}
        self._others = SelectorIndex()
        self._has_others = False
        self._answers = AttributeCache(self._others.match_row)
        # What a flow is listed under, to take it out without reading its selector again.  Most
        # flows have one choice; its names are shared with other flows, its key with a dictionary.
        self._choice_of: list[Hashable] = []
        self._choices_of: dict[int, list[Choice]] = {}
        self._names: dict[Names, Names] = {}

    def add(self, slot: int, selector: Selector, boxes: Boxes) -> None:
        """Messages that the selector, of which these are the boxes, selects are part of a flow."""
        choices = choices_of(boxes)
        if choices is None or self._has_too_many(choices):
            self._others.add(slot, selector)
            self._others_changed()
            return
        self._note(slot, choices)
        for names, key in choices:
            slots = self._lists(names)
            before = slots.get(key)
            slots[key] = slot if before is None else (*_several(before), slot)

    def remove(self, slot: int) -> None:
        """The flow in this slot goes."""
        if slot in self._others:
            self._others.remove(slot)
            self._others_changed()
            return
        for names, key in self._noted(slot):
            slots = self._lists(names)
            left = tuple(each for each in _several(slots[key]) if each != slot)
            if left:
                slots[key] = left if len(left) > 1 else left[0]
            else:
                del slots[key]
            if not slots:
                self._forget_names(names)

    def slots(self, attributes: dict[str, Attribute]) -> Sequence[int]:
        """The slots of the flows that a message with these attributes is part of."""
        found: tuple[int, ...] = ()
        for name, slots in self._by_value.items():
            value = attributes.get(name)
            held = slots.get(TRUTHS[value] if value is True or value is False else value)
            if held is not None:
                found += held if isinstance(held, tuple) else (held,)
        for names, slots in self._by_values.items():
            held = slots.get(tuple([_key(attributes.get(name)) for name in names]))
            if held is not None:
                found += _several(held)
        if self._has_others:
            found += tuple(self._answers.of(attributes))
        # A message may be among several choices of one selector.
        return found if len(found) < 2 else tuple(dict.fromkeys(found))

    def _others_changed(self) -> None:
        self._has_others = len(self._others) > 0
        self._answers.forget()

    def _lists(self, names: Names) -> dict[Hashable, Slots]:
        if len(names) == 1:
            return self._by_value.setdefault(names[0], {})
        return self._by_values.setdefault(names, {})

    def _forget_names(self, names: Names) -> None:
        self._names.pop(names, None)
        self._by_values.pop(names, None)
        if len(names) == 1:
            del self._by_value[names[0]]

    def _has_too_many(self, choices: list[Choice]) -> bool:
        """Whether the choices would make too many sets of attributes (rule 2)."""
        known = {(name,) for name in self._by_value} | self._by_values.keys()
        return len(known | {names for names, _ in choices}) > MOST_SHAPES

    def _note(self, slot: int, choices: list[Choice]) -> None:
        while len(self._choice_of) <= 2 * slot + 1:
            self._choice_of.append(None)
        if len(choices) == 1:
            names, key = choices[0]
            self._choice_of[2 * slot] = self._names.setdefault(names, names)
            self._choice_of[2 * slot + 1] = key
        else:
            self._choices_of[slot] = choices

    def _noted(self, slot: int) -> list[Choice]:
        choices = self._choices_of.pop(slot, None)
        if choices is None:
            names, key = self._choice_of[2 * slot : 2 * slot + 2]
            choices = [(cast("Names", names), key)]
        return choices

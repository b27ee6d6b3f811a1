"""The subscriptions of a link, reduced to those that must travel upstream.

1. A selector is *advertised* or *hidden*; a hidden one is covered by an advertised one.  So the
   advertised selectors together select exactly what all of them select.
2. Adding a selector that an advertised one covers hides it at once.  Otherwise it is advertised,
   and the advertised ones that it covers are hidden behind it, with whatever they hid.
3. Removing an advertised selector brings out what was hidden behind it: each of these finds another
   cover or is advertised.
4. Selectors are counted: equal ones from several subscribers are one entry.

Covers are sought among the advertised selectors that select a witness of the new one, which an
index finds; what a new one covers is sought among those whose witness it selects, which are looked
up by value where the new one names values and gone through otherwise.  The table's size is bounded
by the number of subscriptions that its owner admits.

5. To add or remove one selector may cost only so much (``_Effort``), however many there are.  What
   is not compared any more counts as not covered: more is advertised than needed, and nothing is
   missed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

import msgspec

from penstock.content.matching.covering import covers
from penstock.content.matching.index import SelectorIndex
from penstock.content.matching.normal_form import normal_form
from penstock.content.matching.value_sets import finite_values
from penstock.content.matching.witness import witness
from penstock.content.rows.columns import AttributeValue
from penstock.content.selectors.selector import Selector


class CoveringChange(msgspec.Struct, frozen=True):
    """What to tell upstream; in this order, so that nothing is missed in between."""

    advertise: tuple[Selector, ...] = ()
    withdraw: tuple[Selector, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.advertise or self.withdraw)


MOST_EFFORT: Final = 1_000_000
"""For one change: a thousand short selectors, 15 ms, or a few of a page each."""

PLACING_EFFORT: Final = 50_000
"""Of placing one selector that was hidden: the index is asked, and is built anew for it."""

LEAST_EFFORT: Final = 1000
"""Of one comparison, however short the selectors are."""


class _Effort:
    """What the comparisons of one change have cost, by the lengths of what was compared.

    Comparing two selectors takes time with the product of their sizes in the worst case: of their
    values, patterns and alternatives, for which their text stands.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MOST_EFFORT

    def spend(self, effort: int) -> bool:
        """Whether that much may still be done."""
        self._left -= effort
        return self._left > 0

    def covers(self, wide: Selector, narrow: Selector) -> bool:
        """Whether one covers the other; False when too much was spent."""
        if self._left <= 0:
            return False
        self._left -= LEAST_EFFORT + len(wide.text) * len(narrow.text)
        return covers(wide, narrow)


class _Entry:
    """A distinct selector in the table."""

    __slots__ = ("cover", "hidden", "number", "selector", "subscribers", "witness")

    def __init__(self, number: int, selector: Selector) -> None:
        self.number = number
        self.selector = selector
        self.subscribers = 1
        self.witness = witness(selector)
        self.cover: _Entry | None = None
        self.hidden: dict[int, _Entry] = {}


class CoveringTable:
    """Selectors, of which only the uncovered ones are advertised."""

    __slots__ = ("_advertised", "_by_value", "_entries", "_index", "_next_number", "_unwitnessed")

    def __init__(self) -> None:
        """Empty at first."""
        self._entries: dict[str, _Entry] = {}
        self._advertised: dict[int, _Entry] = {}
        self._index = SelectorIndex()
        self._by_value: dict[tuple[str, AttributeValue], dict[int, _Entry]] = {}
        self._unwitnessed: dict[int, _Entry] = {}
        self._next_number = 0

    def __len__(self) -> int:
        """How many distinct selectors there are, hidden ones included."""
        return len(self._entries)

    @property
    def advertised(self) -> tuple[Selector, ...]:
        """The selectors that must travel upstream, in the order in which they came to."""
        return tuple(entry.selector for entry in self._advertised.values())

    def add(self, selector: Selector) -> CoveringChange:
        """Count a subscription in."""
        entry = self._entries.get(selector.text)
        if entry is not None:
            entry.subscribers += 1
            return CoveringChange()
        entry = self._entries[selector.text] = _Entry(self._next_number, selector)
        self._next_number += 1
        change = _ChangeInMaking()
        self._place(entry, change, _Effort())
        return change.finished()

    def remove(self, selector: Selector) -> CoveringChange:
        """Count a subscription out; raises ``KeyError`` if the selector is not in the table."""
        entry = self._entries[selector.text]
        entry.subscribers -= 1
        if entry.subscribers:
            return CoveringChange()
        del self._entries[selector.text]
        if entry.cover is not None:
            del entry.cover.hidden[entry.number]
            return CoveringChange()
        change = _ChangeInMaking()
        self._unadvertise(entry, change)
        effort = _Effort()
        for orphan in entry.hidden.values():
            orphan.cover = None
            if effort.spend(PLACING_EFFORT):
                self._place(orphan, change, effort)
            else:
                self._advertise(orphan, change)
        return change.finished()

    def cover_of(self, selector: Selector) -> Selector | None:
        """The advertised selector that stands for this one, in the table or not; None if none."""
        entry = self._entries.get(selector.text)
        if entry is not None:
            return (entry.cover or entry).selector
        effort = _Effort()
        for other in self._possible_covers(_Entry(self._next_number, selector)):
            if effort.covers(other.selector, selector):
                return other.selector
        return None

    def stands_for_any(self, text: str, texts: Container[str]) -> bool:
        """Whether an advertised selector is one of these, or one of these is hidden behind it."""
        entry = self._entries.get(text)
        if entry is None:
            return False
        return text in texts or any(each.selector.text in texts for each in entry.hidden.values())

    def _place(self, entry: _Entry, change: _ChangeInMaking, effort: _Effort) -> None:
        """Rule 2."""
        for other in self._possible_covers(entry):
            if effort.covers(other.selector, entry.selector):
                _hide(entry, other)
                return
        for other in self._possibly_covered(entry):
            if effort.covers(entry.selector, other.selector):
                self._unadvertise(other, change)
                _hide(other, entry)
        self._advertise(entry, change)

    def _possible_covers(self, entry: _Entry) -> Iterable[_Entry]:
        if entry.witness is None:
            return list(self._advertised.values())
        return [self._advertised[number] for number in self._index.match_row(entry.witness)]

    def _possibly_covered(self, entry: _Entry) -> list[_Entry]:
        candidates: dict[int, _Entry] = dict(self._unwitnessed)
        for box in normal_form(entry.selector):
            named = next(
                (
                    [(name, value) for value in values]
                    for name, wanted in box.constraints
                    if (values := finite_values(wanted)) is not None
                ),
                None,
            )
            if named is None:
                return list(self._advertised.values())
            for each in named:
                candidates.update(self._by_value.get(each, {}))
        return [candidates[number] for number in sorted(candidates)]

    def _advertise(self, entry: _Entry, change: _ChangeInMaking) -> None:
        self._advertised[entry.number] = entry
        self._index.add(entry.number, entry.selector)
        if entry.witness is None:
            self._unwitnessed[entry.number] = entry
        else:
            for each in entry.witness.items():
                self._by_value.setdefault(each, {})[entry.number] = entry
        change.advertise(entry)

    def _unadvertise(self, entry: _Entry, change: _ChangeInMaking) -> None:
        del self._advertised[entry.number]
        self._index.remove(entry.number)
        self._unwitnessed.pop(entry.number, None)
        for each in (entry.witness or {}).items():
            having = self._by_value[each]
            del having[entry.number]
            if not having:
                del self._by_value[each]
        change.withdraw(entry)


class _ChangeInMaking:
    """Collects a change; what comes and goes within it is not told."""

    __slots__ = ("_advertise", "_withdraw")

    def __init__(self) -> None:
        self._advertise: dict[int, Selector] = {}
        self._withdraw: dict[int, Selector] = {}

    def advertise(self, entry: _Entry) -> None:
        self._advertise[entry.number] = entry.selector

    def withdraw(self, entry: _Entry) -> None:
        if self._advertise.pop(entry.number, None) is None:
            self._withdraw[entry.number] = entry.selector

    def finished(self) -> CoveringChange:
        return CoveringChange(tuple(self._advertise.values()), tuple(self._withdraw.values()))


def _hide(entry: _Entry, cover: _Entry) -> None:
    """Put an entry behind its cover, together with what it hid itself."""
    for each in (entry, *entry.hidden.values()):
        each.cover = cover
        cover.hidden[each.number] = each
    entry.hidden = {}

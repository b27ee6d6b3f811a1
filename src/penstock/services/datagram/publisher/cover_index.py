"""Finds the few flows that may cover a selector, or that it may cover, among thousands.

The encodings of filters screen candidates (``bloom/encoding``, rule 4): a filter can cover another
only if each alternative of the other has all bits of one of its own.

1. A flow is listed under one bit of each of its alternatives, the one with the shortest list at
   that time.  What covers a selector has an alternative within the selector's first one, so it is
   listed under one of that one's bits.
2. A flow is also listed under every bit of its first alternative.  What a selector covers has, in
   its first alternative, all bits of one of the selector's alternatives, so that one bit of each
   of these finds it.
3. An alternative without bits (a range alone) is within everything.  Such flows are listed apart,
   and such a selector is compared with all flows.

Lists hold numbers of four bytes: with 256 bits, 2,000 flows of one equality each are in lists of 8
(rule 1) and 24 (rule 2) on average.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from penstock.content.bloom.encoding import PAPER_SHAPE, FilterEncoding

Slot: TypeAlias = int
"""The number of a flow in its table."""

WITHOUT_BITS: Final = PAPER_SHAPE.bits


def _bits_of(bits: int) -> Iterable[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _first_bits(encoding: FilterEncoding) -> tuple[int, ...]:
    """A selector that selects nothing has no alternative and is covered by everything."""
    if not encoding.alternatives:
        return (WITHOUT_BITS,)
    return tuple(_bits_of(encoding.alternatives[0]))


class CoverIndex:
    """The flows of a table, by the bits of their encodings."""

    __slots__ = ("_all", "_by_bit", "_by_rarest")

    def __init__(self, all_slots: Callable[[], Iterable[Slot]]) -> None:
        """``all_slots`` tells every flow that was added and not removed."""
        self._all = all_slots
        self._by_rarest: dict[int, array[int]] = {}
        self._by_bit: dict[int, array[int]] = {}

    def add(self, slot: Slot, encoding: FilterEncoding) -> None:
        """List a flow."""
        for place in self._rarest_bits(self._by_rarest, encoding):
            self._by_rarest.setdefault(place, array("I")).append(slot)
        for place in _first_bits(encoding):
            self._by_bit.setdefault(place, array("I")).append(slot)

    def remove(self, slot: Slot, encoding: FilterEncoding) -> None:
        """Forget a flow that was listed."""
        for alternative in encoding.alternatives:
            for place in (*_bits_of(alternative), WITHOUT_BITS):
                if slot in self._by_rarest.get(place, ()):
                    self._by_rarest[place].remove(slot)
        for place in _first_bits(encoding):
            self._by_bit[place].remove(slot)

    def may_cover(self, encoding: FilterEncoding) -> set[Slot]:
        """The flows that may cover a selector with this encoding."""
        if not encoding.alternatives:
            return set(self._all())
        return _found(self._by_rarest, (*_bits_of(encoding.alternatives[0]), WITHOUT_BITS))

    def may_be_covered(self, encoding: FilterEncoding) -> set[Slot]:
        """The flows that a selector with this encoding may cover."""
        places = self._rarest_bits(self._by_bit, encoding)
        if WITHOUT_BITS in places:
            return set(self._all())
        return _found(self._by_bit, (*places, WITHOUT_BITS))

    @staticmethod
    def _rarest_bits(lists: dict[int, array[int]], encoding: FilterEncoding) -> set[int]:
        """For each alternative its bit with the shortest list."""
        return {
            min(_bits_of(each), key=lambda bit: len(lists.get(bit, ())), default=WITHOUT_BITS)
            for each in encoding.alternatives
        }


def _found(lists: dict[int, array[int]], places: Iterable[int]) -> set[Slot]:
    return {slot for place in places for slot in lists.get(place, ())}

"""Finds the few flows that may cover a selector, or that it may cover, among thousands.

The encodings of filters screen candidates (``bloom/encoding``, rule 4): a filter can cover another
only if each alternative of the other has all bits of one of its own.

1. A flow is listed under the lowest bit of each of its alternatives.  What covers a selector has an
   alternative within the selector's first one, so it is listed under one of that one's bits.
2. A flow is also listed under every bit of its first alternative.  What a selector covers has, in
   its first alternative, the lowest bit of one of the selector's alternatives.
3. An alternative without bits (a range alone) is within everything.  Such flows are listed apart,
   and such a selector is compared with all flows.

Lists hold a few references for each flow: with 256 bits, 2,000 flows of one equality each are in
lists of 8 (rule 1) and 24 (rule 2) on average.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from penstock.content.bloom.encoding import PAPER_SHAPE, FilterEncoding


class Keyed(Protocol):
    """What can be listed: it has a number, by which candidates are ordered, and an encoding."""

    @property
    def key(self) -> int:
        """Unique, and larger for what was added later."""

    @property
    def encoding(self) -> FilterEncoding:
        """Of its selector."""


Listed = TypeVar("Listed", bound=Keyed)

WITHOUT_BITS = PAPER_SHAPE.bits


def _lowest_bit(bits: int) -> int:
    return (bits & -bits).bit_length() - 1 if bits else WITHOUT_BITS


def _bits_of(bits: int) -> Iterable[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class CoverIndex(Generic[Listed]):
    """The flows of a table, by the bits of their encodings."""

    __slots__ = ("_all", "_by_bit", "_by_lowest")

    def __init__(self) -> None:
        self._all: dict[int, Listed] = {}
        self._by_lowest: dict[int, list[Listed]] = {}
        self._by_bit: dict[int, list[Listed]] = {}

    def add(self, flow: Listed) -> None:
        """List a flow."""
        self._all[flow.key] = flow
        for place in self._lowest_bits(flow.encoding):
            self._by_lowest.setdefault(place, []).append(flow)
        for place in self._first_bits(flow.encoding):
            self._by_bit.setdefault(place, []).append(flow)

    def remove(self, flow: Listed) -> None:
        """Forget a flow that was listed."""
        del self._all[flow.key]
        for place in self._lowest_bits(flow.encoding):
            self._by_lowest[place].remove(flow)
        for place in self._first_bits(flow.encoding):
            self._by_bit[place].remove(flow)

    def may_cover(self, encoding: FilterEncoding) -> list[Listed]:
        """The flows that may cover a selector with this encoding, the oldest first."""
        if not encoding.alternatives:
            return list(self._all.values())
        places = (*_bits_of(encoding.alternatives[0]), WITHOUT_BITS)
        return self._found(self._by_lowest, places)

    def may_be_covered(self, encoding: FilterEncoding) -> list[Listed]:
        """The flows that a selector with this encoding may cover, the oldest first."""
        places = self._lowest_bits(encoding)
        if WITHOUT_BITS in places:
            return list(self._all.values())
        return self._found(self._by_bit, (*places, WITHOUT_BITS))

    def _found(self, lists: dict[int, list[Listed]], places: Iterable[int]) -> list[Listed]:
        found = {flow.key: flow for place in places for flow in lists.get(place, ())}
        return [found[key] for key in sorted(found)]

    @staticmethod
    def _lowest_bits(encoding: FilterEncoding) -> Iterable[int]:
        return tuple(dict.fromkeys(_lowest_bit(each) for each in encoding.alternatives))

    @staticmethod
    def _first_bits(encoding: FilterEncoding) -> Iterable[int]:
        """A selector that selects nothing has no alternative and is covered by everything."""
        if not encoding.alternatives:
            return (WITHOUT_BITS,)
        return tuple(_bits_of(encoding.alternatives[0]))

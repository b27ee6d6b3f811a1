"""Which rows of whom a queue has stored, so that a repeat is stored once.

1. An origin (a client's producer, an alias queue, a queue that sent a dead letter) numbers its
   rows.  The table keeps, for each origin, the set of numbers that are stored.
2. Rows whose numbers are stored are repeats: somebody did not hear the answer.
3. An alias queue spreads its rows over several destinations, so its set would have a hole for
   every piece that went elsewhere.  It therefore says below which number everything is decided:
   the set is filled up to that floor, and a row below it counts as a repeat.
4. A number that the store refused stays a hole, so a later repeat of it is new.
5. A name has one sender at a time (penstock.core.instances).
6. The table is bounded: the origin that was silent for longest is forgotten first.
7. A client's producer can leave holes at will.  Of one with more than ``MOST_INTERVALS`` intervals
   the lowest is forgotten, and what is numbered below those that are left is refused.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Final, TypeAlias

from penstock.core.instances import Instances
from penstock.core.intervals import Interval, IntervalSet

OriginRange: TypeAlias = tuple[str, int, int]
"""An origin, a first number and how many."""

MOST_INTERVALS: Final = 1024
"""Of one client's producer; each costs 100 bytes in memory and up to 18 in every save."""


class OriginTable:
    """The stored sequence numbers of each origin."""

    def __init__(self, limit: int) -> None:
        """Remember at most ``limit`` origins."""
        self._limit = limit
        self._stored: OrderedDict[str, IntervalSet] = OrderedDict()
        self.instances = Instances(limit, self._stored)

    def __contains__(self, origin: str) -> bool:
        """Whether numbers of an origin are known."""
        return origin in self._stored

    def new_numbers(self, origin: str, first: int, count: int) -> list[Interval]:
        """Which of these numbers are not stored yet."""
        stored = self._stored.get(origin)
        if stored is None:
            return [(first, first + count)]
        return stored.gaps(first, first + count)

    def forgotten(self, origin: str, first: int) -> bool:
        """Whether it is not known any more what a producer has stored from this number on."""
        stored = self._stored.get(origin)
        return stored is not None and len(stored) >= MOST_INTERVALS and first < stored.lowest

    def forget_old(self, origin: str) -> None:
        """Rule 6, after a client's producer has sent something."""
        stored = self._stored.get(origin)
        if stored is not None and len(stored) > MOST_INTERVALS:
            stored.forget_lowest(MOST_INTERVALS)

    def add(self, origin: str, first: int, count: int) -> None:
        """These numbers are stored, or about to be."""
        stored = self._stored.get(origin)
        if stored is None:
            stored = self._stored[origin] = IntervalSet()
            if len(self._stored) > self._limit:
                self._stored.popitem(last=False)
        else:
            self._stored.move_to_end(origin)
        stored.add(first, first + count)

    def remove(self, origin: str, first: int, count: int) -> None:
        """These numbers turned out not to be stored."""
        stored = self._stored.get(origin)
        if stored is not None:
            stored.remove(first, first + count)

    def raise_floor(self, origin: str, floor: int) -> None:
        """Nothing new will come below this number."""
        if floor > 0:
            self.add(origin, 0, floor)

    def next_sequence(self, origin: str) -> int:
        """The number after the highest that is stored."""
        stored = self._stored.get(origin)
        if stored is None or not len(stored):
            return 0
        return max(high for _, high in stored)

    def latest(self, kind: str, limit: int) -> list[str]:
        """The names of the origins of a kind (``kind/name``), those that spoke last first."""
        prefix = f"{kind}/"
        names = (each for each in reversed(self._stored) if each.startswith(prefix))
        return [each.removeprefix(prefix) for each in islice(names, limit)]

    def dump(self, without: Iterable[OriginRange] = ()) -> list[tuple[str, list[Interval]]]:
        """The table as plain values, idlest origin first, without some of the numbers."""
        left_out: dict[str, list[OriginRange]] = {}
        for each in without:
            left_out.setdefault(each[0], []).append(each)
        dumped = []
        for origin, stored in self._stored.items():
            intervals = list(stored)
            if origin in left_out:
                narrowed = IntervalSet(intervals)
                for _, first, count in left_out[origin]:
                    narrowed.remove(first, first + count)
                intervals = list(narrowed)
            dumped.append((origin, intervals))
        return dumped

    def load(self, saved: list[tuple[str, list[Interval]]]) -> None:
        """Replace the table."""
        self._stored.clear()
        self._stored.update((origin, IntervalSet(intervals)) for origin, intervals in saved)

    def __len__(self) -> int:
        """How many origins are remembered."""
        return len(self._stored)

"""The table of numbered origins: each row is stored once, however often it is sent.

An origin (a client's producer, an alias queue, a queue that sends a dead letter) numbers its rows
and repeats those whose acknowledgement it did not receive.

``SequenceTable`` keeps the numbers that are stored.

1. It keeps, for each origin, the set of stored numbers: usually one interval from zero.
2. A row whose number is in the set is a repeat and is confirmed without being stored again.
3. A number that the store refused stays a hole in the set, so a later repeat of it is new.
4. An alias queue spreads its rows over several destinations, so its set would have a hole for every
   row that went elsewhere.  It therefore announces a floor below which every row is decided: the
   set is filled up to the floor, and a row below it counts as a repeat.
5. The table is bounded: the origin that was silent for longest is forgotten first.
6. The set of a client's producer is bounded too, because a producer can leave holes at will.  Of
   more than ``MOST_INTERVALS`` intervals the lowest are forgotten, and rows numbered below the
   remaining ones are refused: it is unknown whether they are stored.  A client repeats only its
   latest numbers.
7. Numbers that no origin may use (``core/limits.py``) are ignored, even if they come from the disk:
   an earlier version accepted them, and a sum of them does not fit 64 bits.

``Instances`` keeps which publisher holds each name.  Two live publishers of one name (a rolling
restart makes them) would give the same numbers to different rows, and the later rows would be taken
for repeats: acknowledged, and not stored.

8. A publisher draws a random number when it is created: its instance.  A name belongs to one
   instance at a time.
9. A publisher that opens for the first time takes the name over.
10. A publisher that opens again after a disconnection gets the name back only if no other instance
    has taken it in the meantime.
11. The table is bounded.  A name with stored numbers is kept as long as those numbers: once both
    are forgotten, no row can be taken for a repeat.

``UncertainNumbers`` keeps the rows whose sync failed: only a restart shows whether they are stored.

12. While the broker runs, such rows are neither refused nor stored again; a repeat gets the same
    answer as the original.
13. They need no bound of their own: a log whose sync failed accepts nothing more, so there are
    never more than were waiting for the disk.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.limits import LARGEST_NUMBER, MOST_ROWS

logger = logging.getLogger(__name__)

OriginRange: TypeAlias = tuple[str, int, int]
"""An origin, its first number and how many numbers."""

MOST_INTERVALS: Final = 1024
"""Each interval costs 100 bytes in memory and up to 18 in every checkpoint."""


class _Saved(msgspec.Struct, frozen=True, array_like=True):
    complete_to: Tick
    origins: list[tuple[str, list[Interval]]]
    instances: dict[str, int] = {}


class SequenceTable:
    """The stored sequence numbers of each origin."""

    def __init__(self, limit: int, *, bounded_sets: bool = False) -> None:
        """Remember at most ``limit`` origins; ``bounded_sets`` applies rule 6 to all of them."""
        self._limit = limit
        self._bounded_sets = bounded_sets
        self._stored: OrderedDict[str, IntervalSet] = OrderedDict()
        self.instances = Instances(limit, self._stored)

    def __contains__(self, origin: str) -> bool:
        """Whether numbers of an origin are known."""
        return origin in self._stored

    def __len__(self) -> int:
        """How many origins are remembered."""
        return len(self._stored)

    def new_numbers(self, origin: str, first: int, count: int) -> list[Interval]:
        """Which of these numbers are not stored yet."""
        stored = self._stored.get(origin)
        if stored is None:
            return [(first, first + count)]
        return stored.gaps(first, first + count)

    def forgotten(self, origin: str, first: int) -> bool:
        """Whether it is unknown what is stored from this number on (rule 6)."""
        stored = self._stored.get(origin)
        return stored is not None and len(stored) >= MOST_INTERVALS and first < stored.lowest

    def next_sequence(self, origin: str) -> int:
        """The number after the highest that is stored."""
        stored = self._stored.get(origin)
        if stored is None or not len(stored):
            return 0
        return max(high for _, high in stored)

    def latest(self, kind: str, limit: int) -> list[str]:
        """The names of the origins of a kind (``kind/name``), the most recent first."""
        prefix = f"{kind}/"
        names = (each for each in reversed(self._stored) if each.startswith(prefix))
        return [each.removeprefix(prefix) for each in islice(names, limit)]

    # -- changes ----------------------------------------------------------------------------

    def add(self, origin: str, first: int, count: int) -> None:
        """These numbers are stored, or about to be."""
        if not 0 <= first < LARGEST_NUMBER:
            logger.error(
                "producer %.64r: its rows numbered from %d on are in the log and their numbers are "
                "ignored; no producer may use them",
                origin,
                first,
            )
            return
        stored = self._stored.get(origin)
        if stored is None:
            stored = self._stored[origin] = IntervalSet()
            if len(self._stored) > self._limit:
                self._stored.popitem(last=False)
        else:
            self._stored.move_to_end(origin)
        stored.add(first, first + count)
        if self._bounded_sets and len(stored) > MOST_INTERVALS:
            stored.forget_lowest(MOST_INTERVALS)

    def remove(self, origin: str, first: int, count: int) -> None:
        """These numbers turned out not to be stored."""
        stored = self._stored.get(origin)
        if stored is not None:
            stored.remove(first, first + count)

    def raise_floor(self, origin: str, floor: int) -> None:
        """Every row below this number is decided (rule 4)."""
        if floor > 0:
            self.add(origin, 0, floor)

    def bound_set(self, origin: str) -> None:
        """Apply rule 6 to one origin."""
        stored = self._stored.get(origin)
        if stored is not None and len(stored) > MOST_INTERVALS:
            stored.forget_lowest(MOST_INTERVALS)

    # -- saving -----------------------------------------------------------------------------

    def dump(self, without: Iterable[OriginRange] = ()) -> list[tuple[str, list[Interval]]]:
        """The table as plain values, the longest silent origin first.

        ``without`` are numbers to leave out, because the store may still refuse them.
        """
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

    def load(self, saved: Iterable[tuple[str, list[Interval]]]) -> None:
        """Replace the table, but not the instances."""
        self._stored.clear()
        self._stored.update((origin, _possible(origin, intervals)) for origin, intervals in saved)
        if self._bounded_sets:
            for origin in self._stored:
                self.bound_set(origin)

    def save(self, complete_to: Tick, without: Iterable[OriginRange] = ()) -> bytes:
        """Table and instances as bytes, correct for the log below the tick ``complete_to``.

        After a restart the log from that tick on brings the table up to date.
        """
        return msgspec.msgpack.encode(
            _Saved(complete_to, self.dump(without), self.instances.dump())
        )

    def restore(self, data: bytes) -> Tick:
        """Replace table and instances by saved ones; returns their ``complete_to``."""
        saved = msgspec.msgpack.decode(data, type=_Saved)
        self.load(saved.origins)
        self.instances.load(saved.instances)
        return saved.complete_to


def _possible(origin: str, intervals: list[Interval]) -> IntervalSet:
    """The saved numbers of an origin, without those that none may use (rule 7)."""
    kept = IntervalSet(
        (max(low, 0), high) for low, high in intervals if 0 <= high <= LARGEST_NUMBER + MOST_ROWS
    )
    if kept.span != sum(high - low for low, high in intervals):
        logger.error(
            "producer %.64r: saved sequence numbers that no producer may use are dropped", origin
        )
    return kept


class Instances:
    """The instance that holds each name."""

    def __init__(self, spare: int, kept: Collection[str]) -> None:
        """Remember the names in ``kept``, and at most ``spare`` others."""
        self._spare = spare
        self._kept = kept
        self._by_name: dict[str, int] = {}

    def take(self, name: str, instance: int, *, resumes: bool) -> bool:
        """Open a publisher; False if another instance holds its name."""
        if resumes and self._by_name.get(name, instance) != instance:
            return False
        self.note(name, instance)
        return True

    def note(self, name: str, instance: int) -> None:
        """Record that this instance holds the name."""
        self._by_name.pop(name, None)
        self._by_name[name] = instance
        if len(self._by_name) > self._spare + len(self._kept):
            self._forget_one()

    def _forget_one(self) -> None:
        """Forget the longest silent of the names without stored numbers."""
        for _ in range(len(self._by_name)):
            oldest = next(iter(self._by_name))
            instance = self._by_name.pop(oldest)
            if oldest not in self._kept:
                return
            self._by_name[oldest] = instance

    def has(self, name: str, instance: int) -> bool:
        """Whether an instance may use the name: it holds it, or no instance is known to."""
        return self._by_name.get(name, instance) == instance

    def of(self, name: str) -> int:
        """The instance that holds a name; 0 if none is known."""
        return self._by_name.get(name, 0)

    def dump(self) -> dict[str, int]:
        """The table as plain values."""
        return dict(self._by_name)

    def load(self, saved: Mapping[str, int]) -> None:
        """Replace the table."""
        self._by_name = dict(saved)


class UncertainNumbers:
    """The numbers of each origin whose sync failed, and the reason."""

    __slots__ = ("_numbers", "reason")

    def __init__(self) -> None:
        self.reason = ""
        self._numbers: dict[str, IntervalSet] = {}

    def add(self, origin: str, first: int, count: int, reason: str) -> None:
        """The sync of these rows failed."""
        self.reason = reason
        self._numbers.setdefault(origin, IntervalSet()).add(first, first + count)

    def touches(self, origin: str, first: int, count: int) -> bool:
        """Whether some of these rows are uncertain."""
        numbers = self._numbers.get(origin)
        return numbers is not None and bool(numbers.within(first, first + count))

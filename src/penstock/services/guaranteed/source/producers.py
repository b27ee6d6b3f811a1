"""What a pubend remembers of its producers, so that a repeated publication is stored once.

1. A producer numbers its rows.  The pubend keeps, for each producer, the set of numbers that are
   stored: usually one interval from zero.
2. Rows whose numbers are stored are repeats (the producer did not hear the receipt) and are
   confirmed without being stored again.
3. A number that was refused stays a hole in the set, so a later repeat of it is new.
4. The table is bounded: the producer that was silent for longest is forgotten first.
5. So is each set.  Of a producer with more than ``MOST_INTERVALS`` intervals the lowest is
   forgotten, and what is numbered below those that are left is refused: nobody can tell any more
   whether it is stored.  A client repeats only its latest numbers.
6. Numbers that no producer may use (``core/limits.py``) are not taken in, not even from the disk:
   an earlier version accepted them, and a sum of them cannot be written any more.
7. A name has one publisher at a time (penstock.core.instances).
8. It is saved now and then with the tick up to which it is right; after a restart the log from
   that tick on brings it up to date.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from penstock.core.instances import Instances
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.limits import LARGEST_NUMBER, MOST_ROWS

logger = logging.getLogger(__name__)

MOST_INTERVALS: Final = 1024
"""Each costs 100 bytes in memory and up to 18 in every checkpoint."""


class _Saved(msgspec.Struct, frozen=True, array_like=True):
    complete_to: Tick
    producers: list[tuple[str, list[Interval]]]
    instances: dict[str, int] = {}


class ProducerTable:
    """The stored sequence numbers of each producer."""

    def __init__(self, limit: int) -> None:
        """Remember at most ``limit`` producers."""
        self._limit = limit
        self._stored: OrderedDict[str, IntervalSet] = OrderedDict()
        self.instances = Instances(limit, self._stored)

    def new_numbers(self, producer: str, first: int, count: int) -> list[Interval]:
        """Which of these sequence numbers are not stored yet."""
        stored = self._stored.get(producer)
        if stored is None:
            return [(first, first + count)]
        return stored.gaps(first, first + count)

    def forgotten(self, producer: str, first: int) -> bool:
        """Whether it is not known any more what is stored from this number on."""
        stored = self._stored.get(producer)
        return stored is not None and len(stored) >= MOST_INTERVALS and first < stored.lowest

    def add(self, producer: str, first: int, count: int) -> None:
        """These numbers are stored."""
        if not 0 <= first < LARGEST_NUMBER:
            logger.error(
                "producer %.64r: its rows numbered from %d on are in the log and their numbers are "
                "ignored; no producer may use them",
                producer,
                first,
            )
            return
        stored = self._stored.get(producer)
        if stored is None:
            stored = self._stored[producer] = IntervalSet()
            if len(self._stored) > self._limit:
                self._stored.popitem(last=False)
        else:
            self._stored.move_to_end(producer)
        stored.add(first, first + count)
        if len(stored) > MOST_INTERVALS:
            stored.forget_lowest(MOST_INTERVALS)

    def remove(self, producer: str, first: int, count: int) -> None:
        """These numbers turned out not to be stored."""
        stored = self._stored.get(producer)
        if stored is not None:
            stored.remove(first, first + count)

    def next_sequence(self, producer: str) -> int:
        """The number after the highest that is stored."""
        stored = self._stored.get(producer)
        if stored is None or not len(stored):
            return 0
        return max(high for _, high in stored)

    def save(self, complete_to: Tick, unsure: Iterable[tuple[str, int, int]] = ()) -> bytes:
        """The table as bytes, right up to (excluding) this tick.

        ``unsure`` are numbers (producer, first, count) that stand at or above the tick.
        """
        sure: dict[str, IntervalSet] = dict(self._stored)
        for producer, first, count in unsure:
            stored = self._stored.get(producer)
            if stored is None:
                continue
            if sure[producer] is stored:
                sure[producer] = IntervalSet(stored)
            sure[producer].remove(first, first + count)
        producers = [(name, list(stored)) for name, stored in sure.items()]
        return msgspec.msgpack.encode(_Saved(complete_to, producers, self.instances.dump()))

    def load(self, data: bytes) -> Tick:
        """Replace the table by a saved one; returns the tick up to which it is right."""
        saved = msgspec.msgpack.decode(data, type=_Saved)
        self._stored.clear()
        self._stored.update(
            (name, _possible(name, intervals)) for name, intervals in saved.producers
        )
        self.instances.load(saved.instances)
        return saved.complete_to

    def __len__(self) -> int:
        """How many producers are remembered."""
        return len(self._stored)


def _possible(producer: str, intervals: list[Interval]) -> IntervalSet:
    """The saved numbers of a producer, without those that none may use."""
    kept = IntervalSet(
        (max(low, 0), high) for low, high in intervals if 0 <= high <= LARGEST_NUMBER + MOST_ROWS
    )
    if sum(high - low for low, high in kept) != sum(high - low for low, high in intervals):
        logger.error(
            "producer %.64r: saved sequence numbers that no producer may use are dropped", producer
        )
    kept.forget_lowest(MOST_INTERVALS)
    return kept

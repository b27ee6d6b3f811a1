"""What a pubend remembers of its producers, so that a repeated publication is stored once.

1. A producer numbers its rows.  The pubend keeps, for each producer, the set of numbers that are
   stored: usually one interval from zero.
2. Rows whose numbers are stored are repeats (the producer did not hear the receipt) and are
   confirmed without being stored again.
3. A number that was refused stays a hole in the set, so a later repeat of it is new.
4. The table is bounded: the producer that was silent for longest is forgotten first.
5. A name has one publisher at a time (penstock.core.instances).
6. It is saved now and then with the tick up to which it is right; after a restart the log from
   that tick on brings it up to date.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from penstock.core.instances import Instances
from penstock.core.intervals import Interval, IntervalSet, Tick


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

    def add(self, producer: str, first: int, count: int) -> None:
        """These numbers are stored."""
        stored = self._stored.get(producer)
        if stored is None:
            stored = self._stored[producer] = IntervalSet()
            if len(self._stored) > self._limit:
                self._stored.popitem(last=False)
        else:
            self._stored.move_to_end(producer)
        stored.add(first, first + count)

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
        self._stored.update((name, IntervalSet(intervals)) for name, intervals in saved.producers)
        self.instances.load(saved.instances)
        return saved.complete_to

    def __len__(self) -> int:
        """How many producers are remembered."""
        return len(self._stored)

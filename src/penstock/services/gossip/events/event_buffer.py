"""The events that a peer passes on, purged by age.

1. Every event has an age in rounds.  The buffer stores the round in which the event would have
   been of age 0 (its birth), so that growing older by a round costs nothing.
2. An arriving copy that is older raises the age (Figure 1).
3. When more events are held than there is room for, the oldest goes; among equals the one that
   was inserted first.
4. Beside the real purge the buffer keeps Figure 5 (b)'s: which events a peer with only
   ``minimum_buffer`` places would have dropped by now (the paper's *lost*).  Each is accounted
   for once, and stays here as long as there is room.  While no peer has less room than this one
   the two purges are the same, and only one is done.

An event's rank is one integer, its birth above its order of insertion, so that the smallest rank
is the next to go.  Ranks lie in heaps; a rank that is no longer its event's is passed over.  A
heap that is mostly such ranks is built anew, which bounds it by three times the events held.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final

from penstock.core.machine import InvariantBroken
from penstock.services.gossip.messages import Event, EventId
from penstock.services.gossip.parameters import OLDEST_AGE

SERIAL_BITS: Final = 44
"""Room for the order of insertion: a peer that takes in 10,000 events a second for ten years uses
up a fifth of it."""

SERIAL_MASK: Final = (1 << SERIAL_BITS) - 1

HEAP_FACTOR: Final = 3
"""Outdated ranks are swept when there are twice as many of them as events."""

HEAP_SLACK: Final = 64
"""A small heap is not worth sweeping."""


class EventBuffer:
    """Events with their ages."""

    __slots__ = (
        "_by_age",
        "_by_serial",
        "_lost",
        "_unaccounted",
        "capacity",
        "events",
        "inserted",
        "ranks",
        "round",
    )

    def __init__(self, capacity: int) -> None:
        """Room for ``capacity`` events."""
        self.capacity = capacity
        self.round = 0
        self.inserted = 0
        self.events: dict[EventId, Event] = {}
        self.ranks: dict[EventId, int] = {}
        """Read by the receiving loop, which looks at every copy of every event."""
        self._by_serial: dict[int, EventId] = {}
        self._by_age: list[int] = []
        self._lost: set[EventId] = set()
        """For membership only; never iterated."""
        self._unaccounted: list[int] | None = None
        """Ranks of the events that are not lost; None while both purges are the same."""

    def __len__(self) -> int:
        """How many events are held."""
        return len(self.events)

    def age(self, identifier: EventId) -> int:
        """The age of an event that is held."""
        return self.round - (self.ranks[identifier] >> SERIAL_BITS)

    def insert(self, event: Event, age: int) -> None:
        """Take an event in; it may have to leave at the next purge."""
        identifier = event.id
        self.inserted = serial = self.inserted + 1
        rank = (self.round - age) << SERIAL_BITS | serial
        self.events[identifier] = event
        self.ranks[identifier] = rank
        self._by_serial[serial] = identifier
        heappush(self._by_age, rank)
        if self._unaccounted is not None:
            heappush(self._unaccounted, rank)

    def raise_age(self, identifier: EventId, age: int) -> None:
        """An older copy of an event that is held came."""
        rank = (self.round - age) << SERIAL_BITS | self.ranks[identifier] & SERIAL_MASK
        self.ranks[identifier] = rank
        heappush(self._by_age, rank)
        if self._unaccounted is not None and identifier not in self._lost:
            heappush(self._unaccounted, rank)

    def grow_older(self, age_limit: int) -> None:
        """A round has passed; events that are too old are not passed on any more."""
        self.round += 1
        while self.events:
            rank = self._oldest(self._by_age)
            if self.round - (rank >> SERIAL_BITS) <= age_limit:
                break
            self._drop(rank)
        self._sweep()

    def purge(self, minimum_buffer: int) -> tuple[list[int], list[int]]:
        """The ages of what the poorest peer would drop now, and of what is dropped here."""
        if minimum_buffer >= self.capacity and not self._lost:
            self._unaccounted = None
            dropped = self._purge()
            return dropped, dropped
        return self._account(minimum_buffer), self._purge()

    def held(self) -> tuple[tuple[Event, ...], bytes]:
        """The events held, and their ages in the same order."""
        now = self.round
        ages = [min(now - (rank >> SERIAL_BITS), OLDEST_AGE) for rank in self.ranks.values()]
        return tuple(self.events.values()), bytes(ages)

    def _account(self, minimum_buffer: int) -> list[int]:
        lost, heap = self._lost, self._unaccounted
        if heap is None:
            heap = self._unaccounted = sorted(self.ranks.values())
        ages: list[int] = []
        while len(self.events) - len(lost) > minimum_buffer:
            rank = self._oldest(heap)
            identifier = self._by_serial[rank & SERIAL_MASK]
            heappop(heap)
            if identifier not in lost:
                lost.add(identifier)
                ages.append(self.round - (rank >> SERIAL_BITS))
        return ages

    def _purge(self) -> list[int]:
        events, ranks, by_serial, heap = self.events, self.ranks, self._by_serial, self._by_age
        ages: list[int] = []
        while len(events) > self.capacity:
            rank = heappop(heap)
            identifier = by_serial.get(rank & SERIAL_MASK)
            if identifier is None or ranks[identifier] != rank:
                continue
            ages.append(self.round - (rank >> SERIAL_BITS))
            del by_serial[rank & SERIAL_MASK], events[identifier], ranks[identifier]
            self._lost.discard(identifier)
        return ages

    def _oldest(self, heap: list[int]) -> int:
        """The smallest rank that is still an event's; it stays in the heap."""
        by_serial, ranks = self._by_serial, self.ranks
        while True:
            rank = heap[0]
            identifier = by_serial.get(rank & SERIAL_MASK)
            if identifier is not None and ranks[identifier] == rank:
                return rank
            heappop(heap)

    def _drop(self, rank: int) -> None:
        identifier = self._by_serial.pop(rank & SERIAL_MASK)
        del self.events[identifier], self.ranks[identifier]
        self._lost.discard(identifier)

    def _sweep(self) -> None:
        most = HEAP_FACTOR * len(self.events) + HEAP_SLACK
        for heap in (self._by_age, self._unaccounted):
            if heap is not None and len(heap) > most:
                heap[:] = self.ranks.values()
                heapify(heap)

    def check_invariants(self) -> None:
        """Every structure speaks of the same events."""
        if self.events.keys() != self.ranks.keys() or len(self._by_serial) != len(self.events):
            raise InvariantBroken("events, ages and order of insertion differ")
        if not self._lost <= self.events.keys():
            raise InvariantBroken("an event that is gone is still counted as lost")

"""The alias queue's decisions: whose a row is.

1. A decision is a note in the alias queue's journal; the row leaves the alias queue when the note
   is durable, and only then does the destination hear that the row is its own.
2. The first destination that says it stored a row gets it.  Another one that stored it as well,
   because it was forwarded twice, is told that the row went elsewhere; but only when the note is
   durable, for after a crash before that the row can still become its own.
3. A confirmed row is remembered until its destination has said that it knows: it may have to ask
   again after a crash.  While a destination is away nothing new is decided for it, so there is
   never more to remember than was under way.
4. One note for each destination is under way at a time; what is decided meanwhile goes into the
   next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, Priority, Send
from penstock.mechanisms.sequence_table import OriginRange
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import Decision, DecisionEntry
from penstock.services.queues.queue.senders import ROUTE

NOBODY = ""
"""The destination of rows that are discarded: purged or expired."""


class Decisions:
    """Decisions on their way to the disk, and what is said once they are there."""

    def __init__(
        self,
        broker: str,
        alias: str,
        journal: Journal,
        origins_of: Callable[[list[Interval]], tuple[OriginRange, ...]],
        retry_ns: Duration,
    ) -> None:
        """``origins_of`` tells whose the rows are that the journal does not have."""
        self._broker = broker
        self._alias = alias
        self._journal = journal
        self._origins_of = origins_of
        self._retry_ns = retry_ns
        self._next: dict[str, list[Interval]] = {}
        self._under_way: dict[str, tuple[int, list[Interval]]] = {}
        self.unwritten = IntervalSet()
        self.retry_at: Instant | None = None

    def decide(self, address: str, low: int, high: int) -> None:
        """These rows are this destination's."""
        self._next.setdefault(address, []).append((low, high))
        self.unwritten.add(low, high)

    def flush(self, out: list[Effect]) -> None:
        """Write down what was decided, one note for each destination at a time."""
        if self.retry_at is not None:
            return
        for address in [each for each in self._next if each not in self._under_way]:
            intervals = self._next.pop(address)
            origins = self._origins_of(intervals)
            entry = DecisionEntry(self._journal.note(), address, tuple(intervals), origins)
            self._under_way[address] = (self._journal.append(entry, out), intervals)

    def resolved(self, token: int) -> tuple[str, list[Interval]] | None:
        """The decision on which the store gave its word; None if this was no note of ours."""
        for address, (each, intervals) in self._under_way.items():
            if each == token:
                del self._under_way[address]
                for low, high in intervals:
                    self.unwritten.remove(low, high)
                return address, intervals
        return None

    def write_again(self, address: str, intervals: list[Interval], now: Instant) -> None:
        """The store refused a note; after a while it may take it."""
        self.retry_at = now + self._retry_ns
        if intervals:
            self._next.setdefault(address, [])[:0] = intervals
            for low, high in intervals:
                self.unwritten.add(low, high)

    def deadline(self, now: Instant) -> None:
        """A refused note may be written again."""
        if self.retry_at is not None and now >= self.retry_at:
            self.retry_at = None

    def announce(
        self,
        destination: Destination,
        committed: Iterable[Interval],
        withdrawn: Iterable[Interval],
        out: list[Effect],
    ) -> None:
        """Tell a destination what is its own and what is not."""
        decision = Decision(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            tuple(committed),
            tuple(withdrawn),
        )
        if decision.committed or decision.withdrawn:
            out.append(Send(ROUTE, decision, Priority.CONTROL))

"""The rows of one alias queue: from its disk to a destination's.

A row that is durable, or passes through (``alias/pass_through``), is in exactly one of these
places:

1. *waiting*: to be forwarded;
2. *in flight*: forwarded to one destination that has not said that it stored it
   (``Destination.in_flight``);
3. *deciding*: a destination has stored it, and the note that it is that destination's is on its way
   to our disk (``Destination.deciding``); then it is gone from here.

The first two are undecided: a row of them can still become any destination's.  After a crash every
row of which no decision is in the journal waits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import Effect, LogRead
from penstock.core.tokens import Tokens
from penstock.services.queues.log.append import entry_of
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import DecisionEntry, RowsEntry, SenderEntry
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.queue.ready import ReadyRows


class AliasRows:
    """Where every row of an alias queue is, apart from what is under way to destinations."""

    def __init__(
        self,
        log: str,
        parameters: QueueParameters,
        tokens: Tokens,
        *,
        saved: Mapping[str, bytes],
        logs: Mapping[str, tuple[int, int, int]],
        now: Instant,
    ) -> None:
        """``saved`` and ``logs`` are what was found on the disk."""
        self.journal = Journal(log, parameters, tokens, saved=saved, logs=logs, now=now)
        self.entries = Entries(parameters.memory_bytes)
        self.waiting = ReadyRows()
        self.undecided = IntervalSet()
        self._recovered_settled = IntervalSet()

    def recovered(self, fact: LogRead, out: list[Effect]) -> list[DecisionEntry]:
        """A piece of the journal was read; returns its decisions that no checkpoint has.

        The rows are complete when the journal is ready.
        """
        decisions: list[DecisionEntry] = []
        for entry in fact.frames:
            fresh = entry.frame.low >= self.journal.checkpointed_to
            if isinstance(entry, RowsEntry):
                self.entries.add(entry_of(entry, recovered=True))
                if fresh:
                    count = len(entry.frame)
                    self.journal.origins.add(entry.origin, entry.first_sequence, count)
            elif isinstance(entry, DecisionEntry):
                for low, high in entry.intervals:
                    self.entries.settle(low, high)
                    self._recovered_settled.add(low, high)
                if fresh:
                    decisions.append(entry)
                    for origin, first, count in entry.origins:
                        self.journal.origins.add(origin, first, count)
            elif isinstance(entry, SenderEntry):
                self.journal.sender_found(entry)
        if self.journal.recovered(fact, out):
            for each in list(self.entries.within(0, NEVER)):
                for low, high in self._recovered_settled.gaps(each.low, each.high):
                    self.undecided.add(low, high)
                    self.waiting.add(each.priority, low, high)
            self._recovered_settled = IntervalSet()
        return decisions

    def arrived(self, rows: RowsEntry, *, stored: bool) -> Entry:
        """Rows wait: they are durable, or pass through."""
        entry = entry_of(rows, stored=stored)
        self.entries.add(entry)
        self.undecided.add(entry.low, entry.high)
        self.waiting.add(entry.priority, entry.low, entry.high)
        return entry

    def wait_again(self, parts: Iterable[Interval]) -> None:
        """Rows that were under way and are undecided wait for another try."""
        for low, high in parts:
            for entry in list(self.entries.within(low, high)):
                self.waiting.add(entry.priority, max(low, entry.low), min(high, entry.high))

    def decide(self, low: int, high: int) -> None:
        """Undecided rows are somebody's now."""
        self.undecided.remove(low, high)
        for entry in self.entries.within(low, high):
            for part in self.waiting.within(entry.priority, max(low, entry.low), high):
                self.waiting.remove(entry.priority, *part)

    @property
    def floor(self) -> int:
        """Below it every row is decided, durably."""
        lowest, pending = self.entries.lowest, self.journal.lowest_pending
        return pending if lowest is None else min(lowest, pending)

    def weight_bytes(self, low: int, high: int) -> int:
        """What rows weigh, taking those that arrived together as equal."""
        weight = 0
        for entry in self.entries.within(low, high):
            rows = min(high, entry.high) - max(low, entry.low)
            weight += entry.weight_bytes * rows // (entry.high - entry.low)
        return weight

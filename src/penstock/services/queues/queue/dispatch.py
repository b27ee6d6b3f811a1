"""Dispatches waiting rows to consumers.

Each message goes to exactly one consumer.  Rows are delivered in whole runs, as they arrived: a run
that goes to a single consumer is not copied.  When the body of the next run is not in memory, the
dispatcher returns the position that it needs and continues when the body has been read.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.content.rows.frame import Frame
from penstock.content.selectors.vectorised import select
from penstock.core.clock import NEVER, Instant
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.messages import Deliver
from penstock.services.queues.queue.consumers import Consumers, QueueConsumer
from penstock.services.queues.queue.prepared import PreparedRows
from penstock.services.queues.queue.ready import ReadyRows


class BodyNeeded(Exception):
    """The row at this position is only in the journal."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Dispatcher:
    """Delivers the waiting rows of one queue to its consumers."""

    def __init__(
        self,
        entries: Entries,
        ready: ReadyRows,
        prepared: PreparedRows,
        consumers: Consumers,
        attempts: Mapping[int, int],
    ) -> None:
        """``attempts`` counts, for each row, the deliveries that were not acknowledged."""
        self._entries = entries
        self._ready = ready
        self._consumers = consumers
        self._prepared = prepared
        self._attempts = attempts
        self._now: Instant = 0

    def dispatch(self, now: Instant, out: list[Effect]) -> int | None:
        """Deliver as many rows as possible; returns a position whose body is needed first."""
        consumers, ready = self._consumers, self._ready
        if not ready.count:
            return None
        self._now = now
        consumers.all_may_take()
        while ready.count and (turns := consumers.turns):
            share = -(-ready.count // turns)
            for _ in range(turns):
                needed = self._take_turn(share, out)
                if needed is not None:
                    return needed
        return None

    def _take_turn(self, share: int, out: list[Effect]) -> int | None:
        """Deliver at most ``share`` rows to one consumer; returns a position that it needs."""
        consumers = self._consumers
        consumer = consumers.next_turn()
        quota = min(consumer.credit, share)
        if consumer.selector is None and len(consumers) > 1:
            unfinished = self._entries.rows - self._prepared.rows
            quota = min(quota, consumers.room(consumer, unfinished))
            if quota <= 0:
                consumers.serve_later(consumer)
                return None
        try:
            if consumer.selector is None:
                self._serve(consumer, quota, out)
            elif not self._serve_matching(consumer, quota, out):
                consumers.rest(consumer)
                return None
        except BodyNeeded as needed:
            consumers.again(consumer, first=True)
            return needed.position
        consumers.again(consumer)
        return None

    def _serve(self, consumer: QueueConsumer, quota: int, out: list[Effect]) -> None:
        """Deliver the first rows that wait."""
        while quota and (interval := self._ready.first()) is not None:
            low, high = interval
            entry = self._entry(low)
            high = min(high, entry.high, low + quota)
            self._deliver(consumer, entry, self._frame(entry).slice(low, high), out)
            self._ready.remove(entry.priority, low, high)
            consumer.deliver(low, high, self._now)
            quota -= high - low

    def _serve_matching(self, consumer: QueueConsumer, quota: int, out: list[Effect]) -> bool:
        """Deliver the first rows that match the consumer's selector; False if none does."""
        served = False
        for priority, level in list(self._ready.levels()):
            for low, high in level.within(consumer.scanned.get(priority, 0), NEVER):
                for entry in list(self._entries.within(low, high)):
                    part = (max(low, entry.low), min(high, entry.high))
                    taken = self._take_matching(consumer, entry, part, quota, out)
                    served = served or taken > 0
                    quota -= taken
                    if not quota:
                        return True
                    consumer.scanned[priority] = part[1]
        return served

    def _take_matching(
        self, consumer: QueueConsumer, entry: Entry, part: Interval, quota: int, out: list[Effect]
    ) -> int:
        """Deliver the rows that match in one part of one entry; returns how many."""
        assert consumer.selector is not None
        frame = self._frame(entry).slice(*part)
        rows = np.flatnonzero(select(consumer.selector, frame.batch))[:quota]
        if not len(rows):
            self._entries.trim_memory(entry)
            return 0
        chosen = frame.select(rows)
        self._deliver(consumer, entry, chosen, out)
        for low, high in runs_of(chosen):
            self._ready.remove(entry.priority, low, high)
            consumer.deliver(low, high, self._now)
        return len(rows)

    def _deliver(
        self, consumer: QueueConsumer, entry: Entry, frame: Frame, out: list[Effect]
    ) -> None:
        attempts = self._attempts
        tried: tuple[tuple[int, int], ...] = ()
        if attempts:
            positions = [int(position) for position in frame.ticks]
            tried = tuple((each, attempts[each]) for each in positions if each in attempts)
        message = Deliver(consumer.name, frame, tried, entry.recovered)
        out.append(Send(consumer.session, message, Priority.DATA))

    def _entry(self, position: int) -> Entry:
        entry = self._entries.find(position)
        assert entry is not None, f"row {position} waits and does not exist"
        return entry

    def _frame(self, entry: Entry) -> Frame:
        if entry.frame is None:
            raise BodyNeeded(entry.low)
        return entry.frame


def runs_of(frame: Frame) -> list[Interval]:
    """The positions of a frame's rows as maximal intervals."""
    ticks = frame.ticks
    if isinstance(ticks, range):
        return [(ticks.start, ticks.stop)] if len(ticks) else []
    breaks = np.flatnonzero(np.diff(ticks) != 1) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(ticks, breaks) if len(run)]

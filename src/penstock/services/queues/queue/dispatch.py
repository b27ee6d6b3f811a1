"""Handing waiting rows to consumers.

One message goes to exactly one consumer.  Rows are handed over in whole runs, as they arrived: a
run that nobody has to share is not copied.  When the body of the next run is not in memory, the
dispatcher says which position it needs and goes on when it is there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from penstock.content.rows.frame import Frame
from penstock.content.selectors.vectorised import select
from penstock.core.clock import NEVER
from penstock.core.intervals import Interval
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.messages import Deliver
from penstock.services.queues.queue.consumers import Consumer, Consumers
from penstock.services.queues.queue.ready import ReadyRows


class BodyNeeded(Exception):
    """The row at this position is only in the journal."""

    def __init__(self, position: int) -> None:
        super().__init__(position)
        self.position = position


class Dispatcher:
    """Gives what waits to those who want it."""

    def __init__(
        self,
        entries: Entries,
        ready: ReadyRows,
        consumers: Consumers,
        attempts: Mapping[int, int],
    ) -> None:
        """``attempts`` are the rows that were handed out in vain, and how often."""
        self._entries = entries
        self._ready = ready
        self._consumers = consumers
        self._attempts = attempts

    def hand_out(self, out: list[Effect]) -> int | None:
        """Hand over what can be; returns a position whose body is needed to go on."""
        consumers, ready = self._consumers, self._ready
        while ready.count and (turns := consumers.turns):
            share = -(-ready.count // turns)
            for _ in range(turns):
                needed = self._take_turn(share, out)
                if needed is not None:
                    return needed
        return None

    def _take_turn(self, share: int, out: list[Effect]) -> int | None:
        """One consumer takes at most its share; returns a position whose body it needs."""
        consumers = self._consumers
        consumer = consumers.next_turn()
        quota = min(consumer.credit, share)
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

    def _serve(self, consumer: Consumer, quota: int, out: list[Effect]) -> None:
        """The first rows that wait, whatever they are."""
        while quota and (interval := self._ready.first()) is not None:
            low, high = interval
            entry = self._entry(low)
            high = min(high, entry.high, low + quota)
            self._hand_over(consumer, entry, self._frame(entry).slice(low, high), out)
            self._ready.remove(entry.priority, low, high)
            consumer.hold(low, high)
            quota -= high - low

    def _serve_matching(self, consumer: Consumer, quota: int, out: list[Effect]) -> bool:
        """The first rows that the consumer's selector wants; False if there are none."""
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
        self, consumer: Consumer, entry: Entry, part: Interval, quota: int, out: list[Effect]
    ) -> int:
        """Hand over what matches in one part of one entry; how many rows."""
        assert consumer.selector is not None
        frame = self._frame(entry).slice(*part)
        rows = np.flatnonzero(select(consumer.selector, frame.batch))[:quota]
        if not len(rows):
            self._entries.trim_memory(entry)
            return 0
        chosen = frame.select(rows)
        self._hand_over(consumer, entry, chosen, out)
        for low, high in runs_of(chosen):
            self._ready.remove(entry.priority, low, high)
            consumer.hold(low, high)
        return len(rows)

    def _hand_over(self, consumer: Consumer, entry: Entry, frame: Frame, out: list[Effect]) -> None:
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

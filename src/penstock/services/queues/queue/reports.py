"""Which alias queues a queue reports its load to, and when (Section IV.B).

A queue answers when it is asked.  It reports at regular intervals to alias queues that asked for
that, for the number of times that they named.  It reports to all of them when its first consumer
comes or its last one leaves.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.services.queues.messages import Monitor
from penstock.services.queues.queue.senders import AliasSender

MOST_WATCHERS: Final = 10_000
"""Alias queues that one queue remembers; the one that asked longest ago is forgotten."""

MOST_REPORTS: Final = 1024
SHORTEST_PERIOD: Final[Duration] = MILLISECOND
"""Bounds on what one request may ask for: thirty times what an alias queue asks for, and a
hundredth of its shortest period."""

DueReport: TypeAlias = tuple[AliasSender, int]
"""An alias queue to report to, and the iteration of its control loop (0: it did not ask)."""


class _Watch:
    """The request of one alias queue."""

    __slots__ = ("every_ns", "iteration", "left", "next_at")

    def __init__(self, iteration: int, every_ns: Duration, left: int, now: Instant) -> None:
        self.iteration = iteration
        self.every_ns = max(every_ns, SHORTEST_PERIOD)
        self.left = min(left, MOST_REPORTS) if every_ns else 0
        self.next_at = now + self.every_ns


class Reports:
    """The alias queues that watch one queue; says which reports are due."""

    def __init__(self) -> None:
        self._watches: dict[AliasSender, _Watch] = {}

    def __len__(self) -> int:
        """How many alias queues watch."""
        return len(self._watches)

    def asked(self, message: Monitor, now: Instant) -> list[DueReport]:
        """An alias queue asks: a report is due at once, and from now on as it asked."""
        watcher = AliasSender(message.source, message.alias)
        self._watches.pop(watcher, None)
        if len(self._watches) >= MOST_WATCHERS:
            del self._watches[next(iter(self._watches))]
        self._watches[watcher] = _Watch(message.iteration, message.every_ns, message.times, now)
        return [(watcher, message.iteration)]

    def to_all(self) -> list[DueReport]:
        """A report to every watcher, without being asked."""
        return [(watcher, 0) for watcher in self._watches]

    def due(self, now: Instant) -> list[DueReport]:
        """The regular reports that are due; each is returned once."""
        due: list[DueReport] = []
        for watcher, watch in self._watches.items():
            if watch.left and now >= watch.next_at:
                watch.left -= 1
                watch.next_at = now + watch.every_ns
                due.append((watcher, watch.iteration))
        return due

    def next_deadline(self) -> Instant | None:
        """When the next regular report is due."""
        due = [watch.next_at for watch in self._watches.values() if watch.left]
        return min(due) if due else None

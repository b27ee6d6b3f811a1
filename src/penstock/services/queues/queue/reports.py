"""What a queue tells the alias queues that feed it (Section IV.B).

A queue answers when it is asked, reports at regular intervals to those who asked for that (for a
number of times that they name), and tells all of them when its first consumer comes or its last one
goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.messages import Monitor, MonitorReport
from penstock.services.queues.queue.senders import ROUTE, AliasSender

MOST_WATCHERS: Final = 10_000
"""Alias queues that one queue remembers; the one that asked longest ago is forgotten."""

MOST_REPORTS: Final = 1024
SHORTEST_PERIOD: Final[Duration] = MILLISECOND
"""What one question may ask for, whatever it says: thirty times what an alias queue asks for, and
a hundredth of its shortest period."""

ReportMaker = Callable[[AliasSender, int, int, Instant], MonitorReport]
"""Makes a report to an alias queue: whom, which iteration, how many watch, when."""


class _Watch:
    """What one alias queue asked for."""

    __slots__ = ("every_ns", "iteration", "left", "next_at")

    def __init__(self, iteration: int, every_ns: Duration, left: int, now: Instant) -> None:
        self.iteration = iteration
        self.every_ns = max(every_ns, SHORTEST_PERIOD)
        self.left = min(left, MOST_REPORTS) if every_ns else 0
        self.next_at = now + self.every_ns


class Reports:
    """The alias queues that watch one queue."""

    def __init__(self, make: ReportMaker) -> None:
        """Nobody watches."""
        self._make = make
        self._watches: dict[AliasSender, _Watch] = {}

    @property
    def watchers(self) -> Mapping[AliasSender, object]:
        """Who watches."""
        return self._watches

    def asked(self, message: Monitor, now: Instant, out: list[Effect]) -> None:
        """Somebody asks: answer at once, and from now on as agreed."""
        watcher = AliasSender(message.source, message.alias)
        self._watches.pop(watcher, None)
        if len(self._watches) >= MOST_WATCHERS:
            del self._watches[next(iter(self._watches))]
        self._watches[watcher] = _Watch(message.iteration, message.every_ns, message.times, now)
        self._report(watcher, message.iteration, now, out)

    def tell_all(self, now: Instant, out: list[Effect]) -> None:
        """Something happened that nobody should have to ask for."""
        for watcher in self._watches:
            self._report(watcher, 0, now, out)

    def _report(
        self, watcher: AliasSender, iteration: int, now: Instant, out: list[Effect]
    ) -> None:
        report = self._make(watcher, iteration, len(self._watches), now)
        out.append(Send(ROUTE, report, Priority.CONTROL))

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Report to whom it is due."""
        for watcher, watch in self._watches.items():
            if watch.left and now >= watch.next_at:
                watch.left -= 1
                watch.next_at = now + watch.every_ns
                self._report(watcher, watch.iteration, now, out)

    def next_deadline(self) -> Instant | None:
        """When the next report is due."""
        due = [watch.next_at for watch in self._watches.values() if watch.left]
        return min(due) if due else None

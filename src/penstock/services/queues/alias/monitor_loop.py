"""The monitoring half of an alias queue's control loop (Algorithm 1).

1. While nothing is produced nothing is monitored.  With the first message the loop notes where
   every destination stands, and regulates after a first period.
2. Under the paper's law each iteration asks every destination and waits for the answers: two
   messages for each.
3. Under ours a destination is asked once to report at every period, and asked again only when the
   period has changed much or the agreement is about to run out: half the messages, so half the
   period at the same overhead.
4. An iteration ends when all destinations have spoken, or when they have had their time.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.machine import Effect, Priority, Send
from penstock.services.queues.alias.destination import Destination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.laws.balancer import Balancer, Sample
from penstock.services.queues.messages import Monitor, MonitorReport
from penstock.services.queues.queue.senders import ROUTE

REPORTS_AGREED: Final = 32
"""A destination stops reporting after so many, if nobody asks again: the asker may be gone."""

RENEWED_AFTER: Final = 16
"""Half of the agreement, so that a lost request does not end it."""

CHANGED_MUCH: Final = 1.25
"""The factor by which the period may be off before the destinations are told."""


class MonitorLoop:
    """Asks destinations how they are, and has the balancer regulate."""

    def __init__(
        self,
        broker: str,
        alias: str,
        balancer: Balancer,
        destinations: Destinations,
        answer_within_ns: Duration,
    ) -> None:
        """``destinations`` are the alias queue's own, as they come and go."""
        self._broker = broker
        self._alias = alias
        self._balancer = balancer
        self._destinations = destinations
        self._answer_within_ns = answer_within_ns
        self._iteration = 0
        self._missing: dict[str, None] = {}
        self._ask_at: Instant | None = None
        self._regulate_by: Instant | None = None
        self._agreed_period_ns: Duration = 0
        self._reports_taken = 0

    def begin(self, now: Instant, out: list[Effect]) -> None:
        """Messages come: start the loop if it does not run."""
        if not self._balancer.monitors or self.runs:
            return
        for destination in self._destinations.reachable:
            self.probe(destination, out)
        self._ask_at = now + self._balancer.begin(now)

    @property
    def runs(self) -> bool:
        """Whether an iteration is under way or due."""
        return self._ask_at is not None or self._regulate_by is not None

    def probe(self, destination: Destination, out: list[Effect]) -> None:
        """Ask one destination how it is, once."""
        self._ask(destination, 0, out)

    def _ask(self, destination: Destination, every_ns: Duration, out: list[Effect]) -> None:
        message = Monitor(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            self._iteration,
            every_ns,
            REPORTS_AGREED if every_ns else 0,
        )
        out.append(Send(ROUTE, message, Priority.CONTROL))

    def report(
        self, destination: Destination, message: MonitorReport, now: Instant, out: list[Effect]
    ) -> None:
        """A destination has spoken."""
        if message.iteration != self._iteration:
            return
        sample = Sample(
            message.epoch,
            message.at,
            message.load,
            message.consumed,
            message.busy_ns,
            message.watchers,
        )
        self._balancer.report(destination.address, sample)
        self._missing.pop(destination.address, None)
        if self._regulate_by is not None and not self._missing:
            self._regulate(now, out)

    def _start_iteration(self, now: Instant, out: list[Effect]) -> None:
        """Ask everybody."""
        self._iteration += 1
        self._reports_taken = 0
        pushed = self._balancer.pushed
        self._agreed_period_ns = self._balancer.period_ns if pushed else 0
        for each in self._destinations.reachable:
            self._ask(each, self._agreed_period_ns, out)
        self._expect(now + self._answer_within_ns)

    def _expect(self, by: Instant) -> None:
        self._ask_at = None
        self._missing = {each.address: None for each in self._destinations.reachable}
        self._regulate_by = by

    def _regulate(self, now: Instant, out: list[Effect]) -> None:
        self._regulate_by = None
        reachable = [each.address for each in self._destinations.reachable]
        heard = [each for each in reachable if each not in self._missing]
        if not self._balancer.regulate(heard, now):
            self._stop(out)
            return
        period_ns = self._balancer.period_ns
        self._reports_taken += 1
        agreed = self._agreed_period_ns
        off = max(agreed, period_ns) > CHANGED_MUCH * min(agreed, period_ns)
        if not agreed:
            self._ask_at = now + period_ns
        elif off or self._missing or self._reports_taken >= RENEWED_AFTER:
            self._ask_at = now + min(period_ns, agreed)
        else:
            self._expect(now + 2 * agreed + self._answer_within_ns)

    def _stop(self, out: list[Effect]) -> None:
        """Nothing is produced: nobody needs to report."""
        self._ask_at = None
        if self._agreed_period_ns:
            self._agreed_period_ns = 0
            for each in self._destinations.reachable:
                self.probe(each, out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Begin an iteration, or end one that waits in vain."""
        if self._regulate_by is not None and now >= self._regulate_by:
            self._regulate(now, out)
        if self._ask_at is not None and now >= self._ask_at:
            self._start_iteration(now, out)

    def next_deadline(self) -> Instant | None:
        """When one of these is due."""
        return earliest(self._ask_at, self._regulate_by)

"""The monitoring half of an alias queue's control loop (Algorithm 1).

1. While nothing is produced nothing is monitored.  With the first message the loop asks every
   destination for a first report, and regulates after a first period.
2. Under a law without pushed reports (the paper's) each iteration asks every destination and waits
   for the answers: two messages for each.
3. Under a law with pushed reports (the improved one) a destination is asked once to report at every
   period, and asked again only when the period has changed much or the agreed number of reports is
   about to run out: half the messages, so half the period at the same overhead.
4. An iteration ends when all destinations have reported, or after ``answer_within_ns``.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.machine import Effect
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.laws.balancer import Balancer, LoadSample
from penstock.services.queues.messages import Monitor, MonitorReport
from penstock.services.queues.routing import SendToBroker

REPORTS_AGREED: Final = 32
"""A destination stops after this many reports unless it is asked again: the alias queue may be
gone."""

RENEWED_AFTER: Final = 16
"""Half of the agreed reports, so that a lost request does not end them."""

CHANGED_MUCH: Final = 1.25
"""The factor by which the period may be off before the destinations are told."""


class MonitorLoop:
    """Asks destinations for reports, and has the balancer regulate."""

    def __init__(
        self,
        broker: str,
        alias: str,
        balancer: Balancer,
        destinations: Destinations,
        answer_within_ns: Duration,
    ) -> None:
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
        """Start the loop when messages arrive, unless it runs."""
        if not self._balancer.monitors or self.runs:
            return
        for destination in self._destinations.reachable:
            self.probe(destination, out)
        self._ask_at = now + self._balancer.begin(now)

    @property
    def runs(self) -> bool:
        """Whether an iteration is under way or scheduled."""
        return self._ask_at is not None or self._regulate_by is not None

    def probe(self, destination: AliasDestination, out: list[Effect]) -> None:
        """Ask one destination for one report."""
        self._ask(destination, 0, out)

    def _ask(self, destination: AliasDestination, every_ns: Duration, out: list[Effect]) -> None:
        message = Monitor(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            self._iteration,
            every_ns,
            REPORTS_AGREED if every_ns else 0,
        )
        out.append(SendToBroker(message))

    def report(
        self, destination: AliasDestination, message: MonitorReport, now: Instant, out: list[Effect]
    ) -> None:
        """Take a report; the iteration ends with the last one."""
        if message.iteration != self._iteration:
            return
        sample = LoadSample(
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
        """Ask every reachable destination."""
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
        """Nothing is produced: end the regular reports."""
        self._ask_at = None
        if self._agreed_period_ns:
            self._agreed_period_ns = 0
            for each in self._destinations.reachable:
                self.probe(each, out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Begin an iteration, or end one whose reports are overdue."""
        if self._regulate_by is not None and now >= self._regulate_by:
            self._regulate(now, out)
        if self._ask_at is not None and now >= self._ask_at:
            self._start_iteration(now, out)

    def next_deadline(self) -> Instant | None:
        return earliest(self._ask_at, self._regulate_by)

"""Notices destinations that cannot take rows, and takes their undecided rows back.

1. An undecided row waits again, and may go to another destination, when its destination becomes
   unreachable, refuses it, is retired, or confirms nothing for ``forward_timeout_ns``.  The
   forwarding transaction keeps the row from being delivered twice (``alias/transaction``).
2. A destination that refused rows gets none for ``refused_pause_ns``.
3. A destination without consumers gets nothing while another has some.  One that was unreachable is
   asked for a report before it gets anything.
4. A destination that gets nothing is asked again from time to time, in case its report was lost.
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destinations import Destinations
from penstock.services.queues.alias.monitor_loop import MonitorLoop
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.alias.transaction import ForwardingTransaction
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.messages import ForwardRefused, MonitorReport
from penstock.services.queues.parameters import QueueParameters
from penstock.services.queues.routing import Routes


class Failover:
    """Watches over the destinations of one alias queue."""

    def __init__(
        self,
        parameters: QueueParameters,
        rows: AliasRows,
        destinations: Destinations,
        balancer: Balancer,
        loop: MonitorLoop,
        transaction: ForwardingTransaction,
    ) -> None:
        self._parameters = parameters
        self._rows = rows
        self._waiting = rows.waiting
        self._destinations = destinations
        self._balancer = balancer
        self._loop = loop
        self._transaction = transaction

    # -- reachability -----------------------------------------------------------------------

    def routes_changed(self, routes: Routes, now: Instant, out: list[Effect]) -> None:
        """Ask destinations that can be reached now; take rows back from those that cannot."""
        for destination in self._destinations:
            reachable = routes.is_reachable(destination.broker)
            if reachable == destination.reachable:
                continue
            if reachable:
                destination.reachable = True
                self._probe(destination, now, out)
                self._transaction.announce_again(destination, now, out)
            else:
                self._balancer.forget(destination.address)
                self._rows.wait_again(destination.lost())

    def retire(self, address: str) -> None:
        """Forward nothing more to a destination; the rows that it has not stored wait again."""
        destination = self._destinations[address]
        destination.retired = True
        self._rows.wait_again(destination.take_back_all())
        self._destinations.forget_if_done(destination)

    # -- what destinations say --------------------------------------------------------------

    def refused(self, message: ForwardRefused, now: Instant) -> None:
        """A destination cannot store rows: they wait again, and it is paused."""
        destination = self._destinations.find(message.source, message.queue)
        if destination is not None:
            self._pause(destination, message.reason, now)
            for low, high in message.intervals:
                self._rows.wait_again(destination.take_back(low, high))

    def pause(self, address: str, problem: str, now: Instant) -> None:
        """Forward nothing to a destination for some time."""
        self._pause(self._destinations[address], problem, now)

    def _pause(self, destination: AliasDestination, problem: str, now: Instant) -> None:
        destination.pause(problem, now + self._parameters.refused_pause_ns)

    def report(self, message: MonitorReport, now: Instant, out: list[Effect]) -> None:
        """A destination reports its load, or that consumers came or left."""
        destination = self._destinations.find(message.source, message.queue)
        if destination is None:
            return
        destination.consumers = message.consumers
        destination.problem = message.problem
        if message.problem:
            destination.consumers = 0
            self._pause(destination, message.problem, now)
        else:
            self._loop.report(destination, message, now, out)

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Take rows back from silent destinations, repeat decisions, and ask again."""
        parameters, waiting = self._parameters, self._waiting
        for destination in self._destinations:
            if destination.is_late(now, parameters.forward_timeout_ns):
                self._rows.wait_again(destination.take_back_all())
            if destination.repeat_at is not None and now >= destination.repeat_at:
                self._transaction.announce_again(destination, now, out)
            probe_at = destination.probe_at(parameters, waiting.count)
            if probe_at is not None and now >= probe_at:
                destination.paused_until = 0
                self._probe(destination, now, out)

    def _probe(self, destination: AliasDestination, now: Instant, out: list[Effect]) -> None:
        destination.probed_at = now
        self._loop.probe(destination, out)

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of a destination."""
        parameters, waiting = self._parameters, self._waiting.count
        first: Instant | None = None
        for each in self._destinations:
            at = each.next_deadline(parameters, waiting)
            if at is not None and (first is None or at < first):
                first = at
        return first

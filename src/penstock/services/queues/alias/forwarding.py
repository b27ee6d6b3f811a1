"""Forwards the waiting rows of an alias queue to its destinations.

1. Rows are divided among the destinations that can take them, as the balancer says.
2. The rows in flight to a destination are bounded (``forward_window_bytes``).  While the window of
   one of them is full nothing is forwarded, so that the division holds.
3. Expired rows are discarded instead.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import Instant
from penstock.core.machine import Effect, Priority
from penstock.services.queues.alias.destination import AliasDestination
from penstock.services.queues.alias.destinations import Takers
from penstock.services.queues.alias.rows import AliasRows
from penstock.services.queues.alias.transaction import ForwardingTransaction
from penstock.services.queues.laws.balancer import Balancer
from penstock.services.queues.log.bodies import BodyReader
from penstock.services.queues.log.entries import Entry
from penstock.services.queues.messages import Forward
from penstock.services.queues.routing import SendToBroker

FORWARD_ROWS: Final = 4096
"""Rows of one forwarded piece at most, so that control messages do not wait behind it for long."""


class Forwarding:
    """Sends the waiting rows of one alias queue."""

    def __init__(
        self,
        broker: str,
        alias: str,
        flow: str,
        window_bytes: int,
        rows: AliasRows,
        bodies: BodyReader,
        balancer: Balancer,
        transaction: ForwardingTransaction,
    ) -> None:
        """``flow`` is the data flow that these rows belong to on a link."""
        self._broker = broker
        self._alias = alias
        self._flow = flow
        self._window_bytes = window_bytes
        self._rows = rows
        self._bodies = bodies
        self._balancer = balancer
        self._transaction = transaction

    def forward(self, takers: Takers, now: Instant, out: list[Effect]) -> None:
        """Forward as many waiting rows as the windows of the takers allow."""
        names = list(takers)
        while takers and (first := self._rows.first_waiting()) is not None:
            if any(each.in_flight_bytes >= self._window_bytes for each in takers.values()):
                return
            entry, low, high = first
            high = min(high, low + FORWARD_ROWS)
            if entry.expires_at and entry.expires_at <= now:
                self._transaction.discard(low, high)
                continue
            if entry.frame is None:
                self._bodies.need(entry.low, out)
                return
            for name, count in self._balancer.allot(high - low, names).items():
                if count:
                    self._send(takers[name], entry, low, low + count, now, out)
                    low += count

    def _send(
        self,
        destination: AliasDestination,
        entry: Entry,
        low: int,
        high: int,
        now: Instant,
        out: list[Effect],
    ) -> None:
        assert entry.frame is not None
        frame = entry.frame.slice(low, high)
        weight_bytes = self._rows.forwarded(entry, low, high)
        destination.sent(low, high, weight_bytes, now)
        message = Forward(
            self._broker,
            destination.broker,
            self._alias,
            destination.queue,
            self._rows.floor,
            frame,
            entry.priority,
            entry.expires_at,
            destination.unsettled_rows,
        )
        out.append(SendToBroker(message, Priority.DATA, self._flow))

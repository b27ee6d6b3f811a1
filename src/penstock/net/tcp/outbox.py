"""The output queue of one connection, and its pacing.

Messages are queued here, with priorities and a bound, and not in the socket, which has neither: the
connection gets more only while it has room (a few hundred kilobytes), and a shaped link gets no
more than its rate allows.  All messages of one turn of the event loop are queued before any of them
is sent, so that a control message overtakes data that was queued before it.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Final

from penstock.content.codec.stream import encode
from penstock.content.rows.columns import Buffer
from penstock.core.clock import Instant, in_seconds
from penstock.core.machine import Priority
from penstock.core.message import Message
from penstock.mechanisms.pacer import UNLIMITED, Pacer
from penstock.net.tcp.connection import Connection
from penstock.net.wall_clock import WallClock
from penstock.overlay.link_queue import LinkQueue, LinkStatistics

TURN_BYTES: Final = 8 << 20
"""The most bytes for one connection in one turn of the event loop: a peer that reads as fast as we
copy (two megabytes in a millisecond) must not block the loop for other connections.  Not less than
the data of one commit, or a subscriber that keeps up would be held back and considered slow."""


class Outbox:
    """A queue, its pacer, and the connection that it feeds, if there is one."""

    def __init__(
        self, clock: WallClock, queue: LinkQueue[list[Buffer]], rate_bytes_per_s: int = UNLIMITED
    ) -> None:
        self._clock = clock
        self._queue = queue
        self._pacer = Pacer(rate_bytes_per_s)
        self._loop = asyncio.get_running_loop()
        self._connection: Connection | None = None
        self._pump_scheduled = False
        self._timer: asyncio.TimerHandle | None = None

    def attach(self, connection: Connection) -> None:
        """Feed this connection from now on."""
        self._connection = connection

    def detach(self) -> None:
        """Remove the connection and discard all queued messages."""
        self._connection = None
        self._queue.flush()
        self._cancel_timer()

    def put(self, message: Message, priority: Priority, flow: str = "") -> bool:
        """Queue a message; False if there was no room for it."""
        pieces = encode(message)
        taken = self._queue.offer(pieces, sum(map(len, pieces)), priority, flow)
        if taken:
            self._pump_soon()
        return taken

    @property
    def pacer(self) -> Pacer:
        """The link's pacer, which datagrams on the same link share."""
        return self._pacer

    @property
    def rate_bytes_per_s(self) -> int:
        """The limit in force; 0 means none."""
        return self._pacer.rate_bytes_per_s

    def set_rate(self, rate_bytes_per_s: int) -> None:
        """Change the limit while the link runs."""
        self._pacer.set_rate(rate_bytes_per_s, self._clock.now())
        self._cancel_timer()
        self.pump()

    @property
    def queued_bytes(self) -> int:
        return self._queue.queued_bytes

    @property
    def flow_bytes(self) -> Mapping[str, int]:
        """The data that waits, by flow."""
        return self._queue.flow_bytes

    @property
    def sent_bytes(self) -> int:
        """Everything that was given to connections so far."""
        return self._queue.sent_bytes

    def statistics(self) -> LinkStatistics:
        return self._queue.statistics()

    def take_most_queued_bytes(self) -> int:
        """The most bytes that waited at once since the last call, for the telemetry."""
        return self._queue.take_most_queued_bytes()

    def pump(self, most_bytes: int = TURN_BYTES) -> None:
        """Send queued messages, about ``most_bytes``; the rest follows in the next turn."""
        connection = self._connection
        while connection is not None and (sent_bytes := self._fill(connection)):
            if not self._queue.queued_bytes:
                return
            # While the kernel accepts everything, there is no reason to wait for the next turn.
            most_bytes -= sent_bytes
            if most_bytes <= 0:
                self._pump_soon()
                return

    def pump_all(self) -> None:
        """Send all queued messages without the limit per turn, before the connection closes."""
        self.pump(sys.maxsize)

    def _pump_soon(self) -> None:
        if not self._pump_scheduled:
            self._pump_scheduled = True
            self._loop.call_soon(self._scheduled_pump)

    def _scheduled_pump(self) -> None:
        self._pump_scheduled = False
        self.pump()

    def _fill(self, connection: Connection) -> int:
        """Hand over messages until the room or the rate is used up; returns their bytes."""
        queue, pacer = self._queue, self._pacer
        limited = pacer.rate_bytes_per_s != UNLIMITED
        now = self._clock.now() if limited else 0
        room_bytes = connection.writable_bytes
        sent_bytes = 0
        together: list[Buffer] = []
        while sent_bytes < room_bytes and (priority := queue.next_priority()) is not None:
            if limited and pacer.ready_at(priority) > now:
                self._wake_at(pacer.ready_at(priority), now)
                break
            pieces, size_bytes = queue.take()
            together += pieces
            sent_bytes += size_bytes
            if limited:
                pacer.sent(size_bytes, priority, now)
        if sent_bytes:
            connection.write(together, sent_bytes)
        return sent_bytes

    def _wake_at(self, ready_at: Instant, now: Instant) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_later(in_seconds(ready_at - now), self._woken)

    def _woken(self) -> None:
        self._timer = None
        self.pump()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

"""What waits to go out to one address as datagrams.

1. Messages wait in a short drop-tail queue.  What one turn of the event loop brings is packed into
   as few datagrams as the limit on their size allows.
2. Towards a neighbour they share the link's bandwidth limit with everything else on the link.
3. A socket that cannot take a datagram at once loses it, as the network would.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from penstock.content.wire import encode
from penstock.core.clock import in_seconds
from penstock.core.machine import Priority
from penstock.core.message import Message
from penstock.net.datagram_packing import packed
from penstock.net.shaping import UNLIMITED, LinkPacer
from penstock.net.wall_clock import WallClock
from penstock.overlay.drop_tail import DropTail


class DatagramOutbox:
    """A queue, its pace, and where it goes."""

    def __init__(
        self,
        clock: WallClock,
        pacer: LinkPacer,
        queue: DropTail[bytes],
        send: Callable[[bytes], None],
        datagram_bytes: int,
    ) -> None:
        """``send`` gets whole datagrams."""
        self.sent_messages = 0
        self.sent_bytes = 0
        self._clock = clock
        self._pacer = pacer
        self._queue = queue
        self._send = send
        self._datagram_bytes = datagram_bytes
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None

    @property
    def dropped_messages(self) -> int:
        """What found the queue full."""
        return self._queue.dropped_messages

    def put(self, message: Message) -> None:
        """Queue a message, or drop it."""
        data = b"".join(encode(message))
        if self._queue.offer(data, len(data)) and self._timer is None:
            self._timer = self._loop.call_soon(self._pump)

    def close(self) -> None:
        """Send nothing more."""
        self._queue.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pump(self) -> None:
        self._timer = None
        queue, pacer = self._queue, self._pacer
        limited = pacer.rate_bytes_per_s != UNLIMITED
        now = self._clock.now() if limited else 0
        going: list[bytes] = []
        while queue:
            ready_at = pacer.ready_at(Priority.DATA) if limited else 0
            if ready_at > now:
                delay_s = in_seconds(ready_at - now)
                self._timer = self._loop.call_later(delay_s, self._pump)
                break
            data, size_bytes = queue.take()
            pacer.sent(size_bytes, Priority.DATA, now)
            going.append(data)
            self.sent_messages += 1
            self.sent_bytes += size_bytes
        for datagram in packed(going, self._datagram_bytes):
            self._send(datagram)

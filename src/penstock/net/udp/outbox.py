"""The datagrams to one address.

1. Without a bandwidth limit, messages are packed into as few datagrams as their size allows.  A
   full datagram is sent immediately, the last one when the owner calls ``flush``.
2. Datagrams to a neighbour share the link's bandwidth limit with all other traffic on the link, and
   wait in a short drop-tail queue.  There each message counts with its size in a datagram of its
   own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from penstock.content.codec.datagram import OVERHEAD_BYTES, DatagramPacker, encode_message
from penstock.core.clock import in_seconds
from penstock.core.machine import Priority
from penstock.core.message import Message
from penstock.mechanisms.pacer import UNLIMITED, Pacer
from penstock.net.wall_clock import WallClock
from penstock.overlay.drop_tail import DropTail


class DatagramOutbox:
    """A queue of messages to one address, its pacer and its packer."""

    def __init__(
        self,
        clock: WallClock,
        pacer: Pacer,
        send: Callable[[bytes], None],
        datagram_bytes: int,
    ) -> None:
        """``send`` receives complete datagrams."""
        self.sent_messages = 0
        self.sent_bytes = 0
        self._clock = clock
        self._pacer = pacer
        self._queue: DropTail[bytes] = DropTail()
        self._packer = DatagramPacker(datagram_bytes, send)
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None

    @property
    def dropped_messages(self) -> int:
        """Messages that were dropped because the queue was full."""
        return self._queue.dropped_messages

    def put(self, messages: Sequence[Message]) -> None:
        """Queue messages for ``flush`` or for the bandwidth limit; drop them if it is full."""
        if self._queue or self._pacer.rate_bytes_per_s != UNLIMITED:
            for message in messages:
                data = encode_message(message)
                self._queue.offer(data, OVERHEAD_BYTES + len(data))
            return
        self.sent_bytes += self._packer.put_all(messages)
        self.sent_messages += len(messages)

    def flush(self) -> None:
        """Send all messages that the limit allows, without waiting for a full datagram."""
        if self._queue and self._timer is None:
            self._release()
        self._packer.flush()

    def close(self) -> None:
        """Discard queued messages and cancel the timer."""
        self._queue.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _woken(self) -> None:
        self._timer = None
        self.flush()

    def _release(self) -> None:
        """Move the messages that the limit allows from the queue to the packer."""
        queue, pacer = self._queue, self._pacer
        now = self._clock.now()
        while queue:
            ready_at = pacer.ready_at(Priority.DATA)
            if ready_at > now:
                self._timer = self._loop.call_later(in_seconds(ready_at - now), self._woken)
                break
            data, size_bytes = queue.take()
            pacer.sent(size_bytes, Priority.DATA, now)
            self._packer.put(data)
            self.sent_messages += 1
            self.sent_bytes += len(data)

"""A connection in memory: two asyncio transports, each of which delivers to the other.

1. What one end writes reaches the other after the network's latency, in order, by the same calls
   that a socket leads to: ``get_buffer`` and ``buffer_updated``, ``eof_received``,
   ``connection_lost``.
2. A pipe holds ``SOCKET_BYTES`` for an end that does not read, as the kernel does.  What is written
   beyond that counts as the transport's own buffer, and the writer is paused and resumed.
3. An end that is closed delivers what it has written and then its end of file.  One that is aborted
   delivers a reset; so does a pipe that is dropped, to both ends.
4. While the network is stalled nothing is delivered, and nothing is lost.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final

from penstock.content.rows.columns import Buffer

SOCKET_BYTES: Final = 256 * 1024
"""What lies between two sockets without being read: about what a kernel gives a busy one."""

TIMER_GRAIN_S: Final = 1e-9
"""The resolution of the loop's clock, by which a timer may fire early."""


class Signal(Enum):
    """What is delivered behind the bytes."""

    END_OF_FILE = 0
    RESET = 1


class PipeEnd(asyncio.Transport):
    """One end of a pipe."""

    def __init__(
        self,
        protocol: asyncio.BufferedProtocol,
        peer_name: tuple[str, int],
        latency_s: float,
        stalled: Callable[[], bool],
    ) -> None:
        """Made by ``connect_in_memory``."""
        super().__init__({"peername": peer_name})
        self.other: PipeEnd
        self.lost = False
        """Whether the protocol has been told, or is about to be, that the connection is over."""
        self._loop = asyncio.get_running_loop()
        self._protocol = protocol
        self._latency_s = latency_s
        self._stalled = stalled
        self._under_way: deque[tuple[float, memoryview | Signal]] = deque()
        self._under_way_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closing = False
        self._ended = False
        self._reading_paused = False
        self._writing_paused = False
        self._high_bytes = self._low_bytes = 0

    # -- asyncio.Transport ------------------------------------------------------------------

    def get_protocol(self) -> asyncio.BaseProtocol:
        """The connection that writes here."""
        return self._protocol

    def is_closing(self) -> bool:
        """Whether nothing more can be written."""
        return self._closing

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        """Write several pieces."""
        self.write(b"".join(list_of_data))

    def write(self, data: Buffer) -> None:
        """Send bytes, which may change afterwards."""
        if data and not self._closing and not self._ended:
            self._send(memoryview(bytes(data)))

    def write_eof(self) -> None:
        """Send nothing more, and read on."""
        if not self._ended:
            self._ended = True
            self._send(Signal.END_OF_FILE)

    def can_write_eof(self) -> bool:
        """Both directions end by themselves."""
        return True

    def close(self) -> None:
        """Deliver what was written, and end."""
        if not self._closing:
            self.write_eof()
            self._lose(None)

    def abort(self) -> None:
        """End at once; what is under way is lost."""
        if not self.lost:
            self._discard()
            self._send(Signal.RESET)
            self._lose(None)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """From where on the writer is paused, and down to where."""
        self._high_bytes = high or 0
        self._low_bytes = low or 0

    def get_write_buffer_size(self) -> int:
        """What is written and not in the sockets' hands yet."""
        return max(0, self._under_way_bytes - SOCKET_BYTES)

    def is_reading(self) -> bool:
        """Whether what arrives is handed to the protocol."""
        return not self._reading_paused

    def pause_reading(self) -> None:
        """Leave what arrives in the pipe."""
        self._reading_paused = True

    def resume_reading(self) -> None:
        """Hand it over again, from the next turn of the loop on."""
        self._reading_paused = False
        self._loop.call_soon(self.other.deliver)

    # -- the network's calls ----------------------------------------------------------------

    def drop(self, reason: str) -> None:
        """The connection breaks at this end; the other end is dropped as well."""
        self._discard()
        self._lose(ConnectionResetError(reason))

    def deliver(self) -> None:
        """Hand what has arrived to the other end, as far as it reads."""
        self._stop_timer()
        other = self.other
        while self._under_way and not self._stalled():
            if other.lost:
                self._discard()
                return
            due_s, what = self._under_way[0]
            if due_s > self._loop.time() + TIMER_GRAIN_S:
                self._timer = self._loop.call_at(due_s, self.deliver)
                break
            if isinstance(what, Signal):
                self._under_way.popleft()
                other._signalled(what)
            elif not self._deliver_bytes(due_s, what):
                break
        self._resume_writer()

    # -- delivery ---------------------------------------------------------------------------

    def _send(self, what: memoryview | Signal) -> None:
        if self.lost:
            return
        self._under_way.append((self._loop.time() + self._latency_s, what))
        if isinstance(what, memoryview):
            self._under_way_bytes += len(what)
        if self._timer is None:
            self._timer = self._loop.call_at(self._under_way[0][0], self.deliver)
        if self.get_write_buffer_size() > self._high_bytes and not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def _deliver_bytes(self, due_s: float, data: memoryview) -> bool:
        """Give the other end one read of these bytes; False if it does not read."""
        other = self.other
        if other._reading_paused:
            return False
        room = memoryview(other._protocol.get_buffer(-1))
        count = min(len(room), len(data))
        room[:count] = data[:count]
        self._under_way_bytes -= count
        if count < len(data):
            self._under_way[0] = (due_s, data[count:])
        else:
            self._under_way.popleft()
        other._protocol.buffer_updated(count)
        return True

    def _signalled(self, signal: Signal) -> None:
        if signal is Signal.RESET:
            self._lose(ConnectionResetError("the connection was reset by the other end"))
        elif not self._protocol.eof_received():
            self.close()

    def _resume_writer(self) -> None:
        if self._writing_paused and self.get_write_buffer_size() <= self._low_bytes:
            self._writing_paused = False
            if not self.lost:
                self._protocol.resume_writing()

    def _lose(self, error: Exception | None) -> None:
        if not self.lost:
            self.lost = self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    def _discard(self) -> None:
        self._under_way.clear()
        self._under_way_bytes = 0
        self._stop_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def connect_in_memory(
    dialling: asyncio.BufferedProtocol,
    answering: asyncio.BufferedProtocol,
    *,
    names: tuple[tuple[str, int], tuple[str, int]],
    latency_s: float,
    stalled: Callable[[], bool],
) -> tuple[PipeEnd, PipeEnd]:
    """Two protocols, connected; ``names`` are the addresses of the two, as the other sees them."""
    here = PipeEnd(dialling, names[1], latency_s, stalled)
    there = PipeEnd(answering, names[0], latency_s, stalled)
    here.other, there.other = there, here
    dialling.connection_made(here)
    answering.connection_made(there)
    return here, there

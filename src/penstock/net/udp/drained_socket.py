"""A UDP socket that is emptied at each wake-up.

1. When the socket is readable, all available datagrams are read, at most ``DRAINED_AT_ONCE``; each
   is passed to ``on_datagram``, and ``on_drained`` is called after the last one.  So datagrams that
   arrived while the process was busy can be handled as one batch, and other work on the loop gets
   its turn.
2. A datagram is a view of one buffer that the next one overwrites: the owner must copy the bytes
   that it keeps.
3. A datagram that the socket cannot take immediately is dropped, as the network would do, and
   counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from socket import SO_RCVBUF, SOCK_DGRAM, SOL_SOCKET, socket
from typing import Any, Final, TypeAlias

logger = logging.getLogger(__name__)

DRAINED_AT_ONCE: Final = 64
"""One or two milliseconds of work: other work on the loop waits no longer for a busy socket."""

RECEIVE_BUFFER_BYTES: Final = 4 << 20
"""The kernel's receive buffer while the process is busy: about 1,800 full datagrams."""

LARGEST_DATAGRAM_BYTES: Final = 1 << 16

SocketAddress: TypeAlias = tuple[str, int]


async def bound_socket(host: str, port: int) -> socket:
    """Create a socket bound to this address; raises ``OSError`` and then leaves nothing open."""
    return await _made(host, port, socket.bind)


async def connected_socket(host: str, port: int) -> socket:
    """Create a socket that receives only from this address; raises ``OSError``."""
    return await _made(host, port, socket.connect)


async def _made(host: str, port: int, attach: Callable[[socket, Any], None]) -> socket:
    loop = asyncio.get_running_loop()
    family, kind, protocol, _, address = (await loop.getaddrinfo(host, port, type=SOCK_DGRAM))[0]
    made = socket(family, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        attach(made, address)
    except OSError:
        made.close()
        raise
    return made


class DrainedSocket:
    """A socket on the running event loop."""

    def __init__(
        self,
        made: socket,
        on_datagram: Callable[[memoryview, SocketAddress], None],
        on_drained: Callable[[], None],
    ) -> None:
        """``on_datagram`` gets each datagram and its sender; ``on_drained`` follows the last."""
        self.unsent_datagrams = 0
        self._socket = made
        self._on_datagram = on_datagram
        self._on_drained = on_drained
        self._buffer = memoryview(bytearray(LARGEST_DATAGRAM_BYTES))
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(made, self._drain)

    @property
    def is_closed(self) -> bool:
        return self._socket.fileno() < 0

    def close(self) -> None:
        if not self.is_closed:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def send(self, data: bytes, address: SocketAddress | None = None) -> None:
        """Send a datagram to an address, or to the address that the socket is connected to."""
        try:
            if address is None:
                self._socket.send(data)
            else:
                self._socket.sendto(data, address)
        except OSError as error:
            # Full buffer, or unreachable peer: the TCP connection reports what matters.
            self.unsent_datagrams += 1
            logger.debug("a datagram was not sent: %s", error)

    def _drain(self) -> None:
        receive, buffer = self._socket.recvfrom_into, self._buffer
        for _ in range(DRAINED_AT_ONCE):
            try:
                size, address = receive(buffer)
            except BlockingIOError:
                break
            except OSError as error:
                # No socket listened at the destination of an earlier datagram.
                logger.debug("a datagram was not delivered: %s", error)
                continue
            self._on_datagram(buffer[:size], address[:2])
            if self.is_closed:
                return
        self._on_drained()

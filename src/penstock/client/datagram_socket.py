"""A client's UDP socket beside its session.

1. The broker's offer names its port and a secret.  The client sends the secret as its first
   datagram, and again until the broker confirms: from then on the broker knows its address.
2. Only datagrams from the broker are taken; the socket is connected to it.
3. What one turn of the event loop brings is packed into as few datagrams as possible.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from socket import SO_RCVBUF, SOL_SOCKET
from typing import Any, Final, cast

from penstock.content.wire import MalformedMessage, encode
from penstock.core.message import Message
from penstock.datagram.messages import AddressBound, BindAddress, DatagramSocketOffer
from penstock.net.datagram_packing import packed, unpacked
from penstock.overlay.wire import datagram_decoder

logger = logging.getLogger(__name__)

BIND_AGAIN_S: Final = 0.1
"""A lost first datagram costs no more than this."""

RECEIVE_BUFFER_BYTES: Final = 4 << 20
"""What the kernel may hold while the application is busy."""


class ClientDatagramSocket(asyncio.DatagramProtocol):
    """The socket of one connection's life."""

    def __init__(
        self,
        offer: DatagramSocketOffer,
        datagram_bytes: int,
        on_message: Callable[[Message], None],
    ) -> None:
        """``on_message`` gets what the broker sends in datagrams."""
        self.bound: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.malformed_datagrams = 0
        self._offer = offer
        self._datagram_bytes = datagram_bytes
        self._on_message = on_message
        self._decoder = datagram_decoder()
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None

    async def open(self, host: str) -> None:
        """Connect to the broker's port at this host; raises ``OSError``."""
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, remote_addr=(host, self._offer.port))
        self._bind()

    def _bind(self) -> None:
        if self.bound.done() or self._transport is None:
            return
        self._transport.sendto(b"".join(encode(BindAddress(self._offer.secret))))
        self._timer = asyncio.get_running_loop().call_later(BIND_AGAIN_S, self._bind)

    def close(self) -> None:
        """Send what this turn of the loop brought, and then send and hear nothing more."""
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        if not self.bound.done():
            self.bound.cancel()
        if self._transport is not None:
            self._transport.close()
            self._transport = None

    def send(self, message: Message) -> None:
        """Send a message at the end of this turn of the loop."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._flush)
        self._waiting.append(b"".join(encode(message)))

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if self._transport is None:
            return
        for datagram in packed(waiting, self._datagram_bytes):
            self._transport.sendto(datagram)

    # -- what asyncio calls -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        # The loops' own transports derive from no common class.
        self._transport = cast(asyncio.DatagramTransport, transport)
        socket = transport.get_extra_info("socket")
        if socket is not None:
            socket.setsockopt(SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """A datagram came."""
        try:
            messages = unpacked(data, self._decoder)
        except MalformedMessage as error:
            self.malformed_datagrams += 1
            logger.debug("a datagram is no message: %s", error)
            return
        for message in messages:
            if isinstance(message, AddressBound):
                if not self.bound.done():
                    self.bound.set_result(None)
            else:
                self._on_message(message)

    def error_received(self, exc: Exception) -> None:
        """The broker's socket is gone; the connection will tell."""
        logger.debug("a datagram was not delivered: %s", exc)

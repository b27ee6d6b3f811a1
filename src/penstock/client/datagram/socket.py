"""A client's UDP socket beside its session.

1. The broker's offer names its port and a secret.  The client sends the secret as its first
   datagram, and again until the broker confirms: from then on the broker knows its address.
2. Only datagrams from the broker are taken; the socket is connected to it.
3. What one turn of the event loop brings is packed into as few datagrams as possible.  A full one
   leaves at once, the last one at the end of the turn.
4. What one wake-up brings is handed on together.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from penstock.content.codec.datagram import (
    DatagramDecoder,
    DatagramPacker,
    datagram_of,
    encode_message,
)
from penstock.content.codec.malformed import MalformedMessage
from penstock.core.message import Message
from penstock.net.udp.drained_socket import DrainedSocket, SocketAddress, connected_socket
from penstock.overlay.messages import AddressBound, BindAddress, DatagramSocketOffer
from penstock.overlay.wire import datagram_messages

logger = logging.getLogger(__name__)

BIND_AGAIN_S: Final = 0.1
"""A lost first datagram costs no more than this."""


class ClientDatagramSocket:
    """The socket of one connection's life."""

    def __init__(
        self,
        offer: DatagramSocketOffer,
        datagram_bytes: int,
        on_messages: Callable[[list[Message]], None],
    ) -> None:
        """``on_messages`` gets what the broker sends in datagrams."""
        self.bound: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.malformed_datagrams = 0
        self.sent_in_turn = 0
        """Messages that were sent since the event loop had its last turn."""
        self._offer = offer
        self._on_messages = on_messages
        self._decoder = DatagramDecoder(datagram_messages())
        self._packer = DatagramPacker(datagram_bytes, self._transmit)
        self._arrived: list[Message] = []
        self._socket: DrainedSocket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    async def open(self, host: str) -> None:
        """Connect to the broker's port at this host; raises ``OSError``."""
        made = await connected_socket(host, self._offer.port)
        if self.bound.done():
            # Closed meanwhile.
            made.close()
            return
        self._socket = DrainedSocket(made, self._datagram, self._drained)
        self._bind()

    def _bind(self) -> None:
        if self.bound.done():
            return
        self._transmit(datagram_of([encode_message(BindAddress(self._offer.secret))]))
        self._timer = self._loop.call_later(BIND_AGAIN_S, self._bind)

    def close(self) -> None:
        """Send what this turn of the loop brought, and then send and hear nothing more."""
        self._flush()
        if self._timer is not None:
            self._timer.cancel()
        if not self.bound.done():
            self.bound.cancel()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def send(self, message: Message) -> None:
        """Send a message, at the end of this turn of the loop or before."""
        if not self.sent_in_turn:
            self._loop.call_soon(self._flush)
        self.sent_in_turn += 1
        self._packer.put(encode_message(message))

    def _flush(self) -> None:
        self.sent_in_turn = 0
        self._packer.flush()

    def _transmit(self, data: bytes) -> None:
        if self._socket is not None:
            self._socket.send(data)

    def _datagram(self, data: memoryview, address: SocketAddress) -> None:
        """A datagram came."""
        try:
            messages = self._decoder.decode(data)
        except MalformedMessage as error:
            self.malformed_datagrams += 1
            logger.debug("a datagram is no message: %s", error)
            return
        if messages and type(messages[0]) is AddressBound:
            if not self.bound.done():
                self.bound.set_result(None)
            del messages[0]
        self._arrived += messages

    def _drained(self) -> None:
        arrived, self._arrived = self._arrived, []
        if arrived:
            self._on_messages(arrived)

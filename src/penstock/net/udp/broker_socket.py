"""A broker's UDP socket: its neighbours' and its clients' datagrams.

1. Neighbours tell each other their ports over the link's connection; a datagram counts as the
   neighbour's if it comes from the host of that connection and that port.
2. A client asks for the port over its session and gets a secret with the answer.  The datagram
   that brings the secret back shows the client's address, through whatever translates addresses on
   the way; from then on what comes from there is the client's.
3. Datagrams from anywhere else, and those that are not messages, are counted and dropped: no answer
   is ever sent to an address that did not show a secret.
4. A client speaks only as a client does: a ``BindAddress`` and the service's own datagrams.
5. What one wake-up brings from one sender is one fact, and what it leads to is packed together.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from penstock.content.codec.datagram import DatagramDecoder, datagram_of, encode_message
from penstock.content.codec.malformed import MalformedMessage
from penstock.core.datagrams import BestEffort, ReceivedTogether, SendTogether
from penstock.core.machine import (
    Fact,
    LinkDown,
    LinkName,
    LinkUp,
    Priority,
    Received,
    Send,
    SessionClosed,
)
from penstock.core.message import Message
from penstock.mechanisms.pacer import Pacer
from penstock.net.broker.link import Link
from penstock.net.udp.drained_socket import DrainedSocket, SocketAddress, bound_socket
from penstock.net.udp.outbox import DatagramOutbox
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import AddressBound, BindAddress, DatagramPort, DatagramSocketOffer
from penstock.overlay.wire import datagram_messages

logger = logging.getLogger(__name__)

DATAGRAM_BYTES: Final = 1400
"""No datagram of several messages is larger: it passes an Ethernet link in one piece."""

SECRET_BYTES: Final = 16


class DatagramSocket:
    """The socket, and who is behind which address."""

    def __init__(self, clock: WallClock, feed: Callable[[Iterable[Fact]], None]) -> None:
        """``feed`` gets what neighbours and clients say in datagrams."""
        self.port = 0
        self.dropped_datagrams = 0
        self._clock = clock
        self._feed = feed
        self._decoder = DatagramDecoder(datagram_messages())
        self._links: Mapping[LinkName, Link] = {}
        self._senders: dict[SocketAddress, LinkName] = {}
        self._outboxes: dict[LinkName, DatagramOutbox] = {}
        self._addresses: dict[LinkName, SocketAddress] = {}
        self._secrets: dict[bytes, LinkName] = {}
        self._socket: DrainedSocket | None = None
        self._arrived: list[tuple[LinkName, list[Message]]] = []
        """What this wake-up has brought: runs of messages from one sender."""
        self._unflushed: dict[DatagramOutbox, None] = {}
        self._draining = False

    async def open(self, host: str, port: int, *, required: bool) -> None:
        """Bind the socket; if the port is taken and not ``required``, take any.

        Raises ``OSError``.
        """
        try:
            bound = await bound_socket(host, port)
        except OSError:
            if required:
                raise
            logger.warning("UDP port %d is taken; datagrams use another", port)
            bound = await bound_socket(host, 0)
        self._socket = DrainedSocket(bound, self._datagram, self._drained)
        self.port = int(bound.getsockname()[1])

    def watch(self, links: Mapping[LinkName, Link]) -> None:
        """These are the broker's links."""
        self._links = links

    def close(self) -> None:
        """Fall silent."""
        for outbox in self._outboxes.values():
            outbox.close()
        self._unflushed.clear()
        if self._socket is not None:
            self._socket.close()

    # -- what is said on connections --------------------------------------------------------

    def overheard(self, facts: Iterable[Fact]) -> list[Fact]:
        """Take what is for the socket out of what a link or a session says."""
        rest: list[Fact] = []
        for fact in facts:
            if isinstance(fact, Received):
                if isinstance(fact.message, DatagramPort):
                    self._neighbour_at(fact.link, fact.message.port)
                else:
                    rest.append(fact)
                continue
            if isinstance(fact, LinkUp) and self.port:
                told = Send(fact.link, DatagramPort(self.port), Priority.CONTROL)
                self._links[fact.link].send(told)
            elif isinstance(fact, LinkDown):
                self._forget(fact.link)
            elif isinstance(fact, SessionClosed):
                self._forget(fact.session)
            rest.append(fact)
        return rest

    def offer(self, session: LinkName) -> DatagramSocketOffer:
        """The answer to a client that asks where to send datagrams."""
        secret = secrets.token_bytes(SECRET_BYTES)
        self._secrets = {key: each for key, each in self._secrets.items() if each != session}
        self._secrets[secret] = session
        return DatagramSocketOffer(self.port, secret)

    def _neighbour_at(self, name: LinkName, port: int) -> None:
        link = self._links.get(name)
        if link is None or link.connection is None or not 0 < port <= 65_535:
            return
        host = link.connection.peer_address.rpartition(":")[0].strip("[]")
        self._connect(name, (host, port), link.outbox.pacer)

    def _connect(self, name: LinkName, address: SocketAddress, pacer: Pacer) -> None:
        self._forget(name, keep_secret=True)
        self._senders[address] = name
        self._addresses[name] = address
        self._outboxes[name] = DatagramOutbox(
            self._clock, pacer, lambda data: self._transmit(data, address), DATAGRAM_BYTES
        )

    def _forget(self, name: LinkName, *, keep_secret: bool = False) -> None:
        address = self._addresses.pop(name, None)
        if address is not None:
            self._senders.pop(address, None)
        outbox = self._outboxes.pop(name, None)
        if outbox is not None:
            outbox.close()
            self._unflushed.pop(outbox, None)
        if not keep_secret:
            self._secrets = {key: each for key, each in self._secrets.items() if each != name}

    # -- datagrams --------------------------------------------------------------------------

    def send(self, effect: BestEffort) -> None:
        """Send to a neighbour or a client whose address is known; others get nothing."""
        outbox = self._outboxes.get(effect.link)
        if outbox is None:
            return
        outbox.put(effect.messages if isinstance(effect, SendTogether) else (effect.message,))
        if not self._unflushed and not self._draining:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unflushed[outbox] = None

    def _flush(self) -> None:
        unflushed, self._unflushed = self._unflushed, {}
        for outbox in unflushed:
            outbox.flush()

    def _transmit(self, data: bytes, address: SocketAddress) -> None:
        if self._socket is not None and not self._socket.is_closed:
            self._socket.send(data, address)

    def _datagram(self, data: memoryview, address: SocketAddress) -> None:
        """A datagram came."""
        try:
            messages = self._decoder.decode(data)
        except MalformedMessage as error:
            self.dropped_datagrams += 1
            logger.debug("a datagram from %s is no message: %s", address[0], error)
            return
        sender = self._senders.get(address)
        if sender is None or (messages and type(messages[0]) is BindAddress):
            messages = self._introduction(messages, address)
            sender = self._senders.get(address)
        if sender is None or not messages:
            return
        if self._arrived and self._arrived[-1][0] == sender:
            self._arrived[-1][1].extend(messages)
        else:
            self._arrived.append((sender, messages))

    def _drained(self) -> None:
        """This was all that had come."""
        arrived, self._arrived = self._arrived, []
        if not arrived:
            return
        self._draining = True
        try:
            self._feed(
                ReceivedTogether(sender, messages)
                if len(messages) > 1
                else Received(sender, messages[0])
                for sender, messages in arrived
            )
        finally:
            self._draining = False
            self._flush()

    def _introduction(self, messages: list[Message], address: SocketAddress) -> list[Message]:
        """Hear who a sender is; what else it says, and what strangers say."""
        rest: list[Message] = []
        for message in messages:
            if isinstance(message, BindAddress):
                self._bind(message, address)
            elif address in self._senders:
                rest.append(message)
            else:
                self.dropped_datagrams += 1
        return rest

    def _bind(self, message: BindAddress, address: SocketAddress) -> None:
        session = self._secrets.get(message.secret)
        if session is None:
            self.dropped_datagrams += 1
            return
        if self._addresses.get(session) != address:
            self._connect(session, address, Pacer())
        self._transmit(datagram_of([encode_message(AddressBound())]), address)

"""A broker's UDP socket for the datagrams of its neighbours and clients.

1. Neighbours exchange their UDP ports over the link's connection; a datagram belongs to a neighbour
   if it comes from the host of that connection and that port.
2. A client asks for the port over its session and receives a secret with the answer.  The datagram
   that returns the secret shows the client's address, also behind address translation; from then
   on all datagrams from that address belong to the client.
3. Datagrams from other addresses, and malformed ones, are counted and dropped: the broker never
   answers an address that did not present a secret.
4. A client may send only ``BindAddress`` and the datagrams of the service.
5. Messages of one sender in one wake-up are one fact, and the resulting messages are packed
   together.
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
"""The largest datagram with several messages: it fits into one Ethernet frame."""

SECRET_BYTES: Final = 16


class DatagramSocket:
    """The socket, and the neighbour or client of each address."""

    def __init__(self, clock: WallClock, feed: Callable[[Iterable[Fact]], None]) -> None:
        """``feed`` receives the datagrams of neighbours and clients as facts."""
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
        """The messages of this wake-up, grouped into runs of one sender."""
        self._unflushed: dict[DatagramOutbox, None] = {}
        self._draining = False

    async def open(self, host: str, port: int, *, required: bool) -> None:
        """Bind the socket; if the port is taken and not ``required``, bind any free port.

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
        """Set the broker's links."""
        self._links = links

    def close(self) -> None:
        """Close the socket and discard unsent messages."""
        for outbox in self._outboxes.values():
            outbox.close()
        self._unflushed.clear()
        if self._socket is not None:
            self._socket.close()

    # -- messages on connections ------------------------------------------------------------

    def overheard(self, facts: Iterable[Fact]) -> list[Fact]:
        """Handle the facts that concern the socket; returns the facts for the machine."""
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
        """Answer a client's request for the UDP port, with a new secret."""
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
        """Send to a neighbour or a client; ignored if its address is not known."""
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
        """Decode a datagram and assign it to its sender."""
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
        """Feed all messages of this wake-up to the machine, then flush the answers."""
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
        """Bind the sender's address; returns its other messages, dropping those of unknown ones."""
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

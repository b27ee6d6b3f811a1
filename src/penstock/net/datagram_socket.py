"""A broker's UDP socket: its neighbours' and its clients' datagrams.

1. Neighbours tell each other their ports over the link's connection; a datagram counts as the
   neighbour's if it comes from the host of that connection and that port.
2. A client asks for the port over its session and gets a secret with the answer.  The datagram
   that brings the secret back shows the client's address, through whatever translates addresses on
   the way; from then on what comes from there is the client's.
3. Datagrams from anywhere else, and those that are not messages, are counted and dropped: no answer
   is ever sent to an address that did not show a secret.
4. A client speaks only as a client does: a ``BindAddress`` and the service's own datagrams.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping
from socket import SO_RCVBUF, SOCK_DGRAM, SOL_SOCKET, socket
from typing import Any, Final, cast

from penstock.content.wire import MalformedMessage, encode
from penstock.core.datagrams import SendBestEffort
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
from penstock.datagram.messages import (
    AddressBound,
    BindAddress,
    DatagramPort,
    DatagramSocketOffer,
)
from penstock.net.datagram_outbox import DatagramOutbox
from penstock.net.datagram_packing import unpacked
from penstock.net.link import Link
from penstock.net.shaping import LinkPacer
from penstock.net.wall_clock import WallClock
from penstock.overlay.drop_tail import DropTail
from penstock.overlay.wire import datagram_decoder

logger = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES: Final = 4 << 20
"""What the kernel may hold while the broker is busy: a second of 4,000 messages."""

DATAGRAM_BYTES: Final = 1400
"""No datagram of several messages is larger: it passes an Ethernet link in one piece."""

CLIENT_QUEUE_MESSAGES: Final = 1024
"""What one turn of the event loop may bring for one client; there is no limit on the pace."""

SECRET_BYTES: Final = 16

SocketAddress = tuple[str, int]


class DatagramSocket(asyncio.DatagramProtocol):
    """The socket, and who is behind which address."""

    def __init__(self, clock: WallClock, feed: Callable[[Iterable[Fact]], None]) -> None:
        """``feed`` gets what neighbours and clients say in datagrams."""
        self.port = 0
        self.dropped_datagrams = 0
        self._clock = clock
        self._feed = feed
        self._decoder = datagram_decoder()
        self._links: Mapping[LinkName, Link] = {}
        self._senders: dict[SocketAddress, LinkName] = {}
        self._outboxes: dict[LinkName, DatagramOutbox] = {}
        self._addresses: dict[LinkName, SocketAddress] = {}
        self._secrets: dict[bytes, LinkName] = {}
        self._transport: asyncio.DatagramTransport | None = None

    async def open(self, host: str, port: int, *, required: bool) -> None:
        """Bind the socket; if the port is taken and not ``required``, take any.

        Raises ``OSError``.
        """
        try:
            bound = await _bound(host, port)
        except OSError:
            if required:
                raise
            logger.warning("UDP port %d is taken; datagrams use another", port)
            bound = await _bound(host, 0)
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: self, sock=bound)
        self.port = int(bound.getsockname()[1])

    def watch(self, links: Mapping[LinkName, Link]) -> None:
        """These are the broker's links."""
        self._links = links

    def close(self) -> None:
        """Fall silent."""
        for outbox in self._outboxes.values():
            outbox.close()
        if self._transport is not None:
            self._transport.close()

    # -- what is said on connections --------------------------------------------------------

    def overheard(self, facts: Iterable[Fact]) -> list[Fact]:
        """Take what is for the socket out of what a link or a session says."""
        rest: list[Fact] = []
        for fact in facts:
            if isinstance(fact, Received) and isinstance(fact.message, DatagramPort):
                self._neighbour_at(fact.link, fact.message.port)
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
        queue: DropTail[bytes] = DropTail()
        self._connect(name, (host, port), link.outbox.pacer, queue)

    def _connect(
        self, name: LinkName, address: SocketAddress, pacer: LinkPacer, queue: DropTail[bytes]
    ) -> None:
        self._forget(name, keep_secret=True)
        self._senders[address] = name
        self._addresses[name] = address
        self._outboxes[name] = DatagramOutbox(
            self._clock, pacer, queue, lambda data: self._transmit(data, address), DATAGRAM_BYTES
        )

    def _forget(self, name: LinkName, *, keep_secret: bool = False) -> None:
        address = self._addresses.pop(name, None)
        if address is not None:
            self._senders.pop(address, None)
        outbox = self._outboxes.pop(name, None)
        if outbox is not None:
            outbox.close()
        if not keep_secret:
            self._secrets = {key: each for key, each in self._secrets.items() if each != name}

    # -- datagrams --------------------------------------------------------------------------

    def send(self, effect: SendBestEffort) -> None:
        """Queue a message for a neighbour or a client whose address is known; others get none."""
        outbox = self._outboxes.get(effect.link)
        if outbox is not None:
            outbox.put(effect.message)

    def _transmit(self, data: bytes, address: SocketAddress) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.sendto(data, address)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        # The loops' own transports derive from no common class.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """A datagram came."""
        address = (addr[0], addr[1])
        sender = self._senders.get(address)
        try:
            messages = unpacked(data, self._decoder)
        except MalformedMessage as error:
            self.dropped_datagrams += 1
            logger.debug("a datagram from %s is no message: %s", addr[0], error)
            return
        facts: list[Fact] = []
        for message in messages:
            if isinstance(message, BindAddress):
                self._bind(message, address)
            elif sender is None:
                self.dropped_datagrams += 1
            else:
                facts.append(Received(sender, message))
        if facts:
            self._feed(facts)

    def _bind(self, message: BindAddress, address: SocketAddress) -> None:
        session = self._secrets.get(message.secret)
        if session is None:
            self.dropped_datagrams += 1
            return
        if self._addresses.get(session) != address:
            queue: DropTail[bytes] = DropTail(CLIENT_QUEUE_MESSAGES)
            self._connect(session, address, LinkPacer(), queue)
        self._transmit(b"".join(encode(AddressBound())), address)

    def error_received(self, exc: Exception) -> None:
        """Nobody listens at the other end any more: the connection will tell."""
        logger.debug("a datagram was not delivered: %s", exc)


async def _bound(host: str, port: int) -> socket:
    """A UDP socket at this address; raises ``OSError``, and leaves nothing open then."""
    loop = asyncio.get_running_loop()
    family, kind, protocol, _, address = (await loop.getaddrinfo(host, port, type=SOCK_DGRAM))[0]
    made = socket(family, kind, protocol)
    try:
        made.setblocking(False)
        made.setsockopt(SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made

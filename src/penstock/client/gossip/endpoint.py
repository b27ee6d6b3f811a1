"""A gossip peer on a UDP socket.

1. A datagram that is not a message of ours is counted and dropped; it touches nothing else.
2. Orders to send the same message to several addresses encode it once.
3. The machine's deadline is one timer of the event loop, set anew after every fact.
4. A socket that cannot take a datagram at once loses it, as the network would.
5. ``WhyRequest`` is answered only to an address of this machine (127.0.0.0/8, ::1): what a sender
   is allowed is nobody else's business, and a forged question cannot be used against a third.
6. ``loss`` drops arriving datagrams at random, for rehearsals.
7. What the machine records of itself goes to ``on_trace``, a turn of the event loop at a time.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from random import Random
from typing import Any, Final, cast

from penstock.content.codec.malformed import MalformedMessage
from penstock.content.codec.stream import Decoder, encode_joined
from penstock.core.clock import SECOND
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, Trace
from penstock.core.message import Message
from penstock.net.broker.telemetry import Telemetry, TraceSink
from penstock.net.wall_clock import WallClock
from penstock.services.gossip.facts import FromGroup
from penstock.services.gossip.host import GossipHost
from penstock.services.gossip.messages import GOSSIP_MESSAGES, Why, WhyRequest
from penstock.services.gossip.why import why

logger = logging.getLogger(__name__)

RECEIVE_BUFFER_BYTES: Final = 4 << 20
"""What the kernel may hold while this process is busy: a round of 60 peers' gossip."""

SOCKETS_KEPT: Final = 4096
"""Parsed addresses that are remembered; views hold far fewer."""


def parse_address(text: Address) -> tuple[str, int]:
    """``host:port`` or ``[host]:port`` as a socket has it; raises ``ValueError``."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65_535:
        raise ValueError(f"{text!r} is not an address: write host:port, for instance 10.0.0.7:7400")
    return host.strip("[]") or "127.0.0.1", int(port)


def written_address(host: str, port: int) -> Address:
    """An address as peers name each other."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bound_socket(listen: Address) -> socket.socket:
    """A socket at an address; the error says which."""
    host, port = parse_address(listen)
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise OSError(f"cannot listen at {listen}: {error.strerror}") from None
    return made


class GossipEndpoint(asyncio.DatagramProtocol):
    """The socket and the timer of one process's gossip."""

    def __init__(
        self,
        on_effect: Callable[[str, Effect], None],
        *,
        loss: float = 0.0,
        random: Random | None = None,
        on_trace: TraceSink | None = None,
    ) -> None:
        """``on_effect`` gets what each group's peer orders for the application."""
        self.host: GossipHost
        self.malformed_datagrams = 0
        self.received_datagrams = 0
        self.sent_datagrams = 0
        self._on_effect = on_effect
        self._telemetry = Telemetry("")
        if on_trace is not None:
            self._telemetry.add_sink(on_trace)
        self._loss = loss
        self._random = random or Random()
        self._clock = WallClock()
        self._decoder: Decoder[Message] = Decoder(GOSSIP_MESSAGES)
        self._transport: asyncio.DatagramTransport
        self._timer: asyncio.TimerHandle | None = None
        self._sockets: dict[Address, tuple[str, int]] = {}

    @classmethod
    async def open(
        cls,
        listen: Address,
        buffer_events: int,
        on_effect: Callable[[str, Effect], None],
        *,
        advertise: Address | None = None,
        seed: int | str | None = None,
        loss: float = 0.0,
        on_trace: TraceSink | None = None,
    ) -> GossipEndpoint:
        """Bind a socket (port 0 takes any) and start a host there.

        ``advertise`` is the address that others reach this one by, if it is not the bound one.
        """
        random = Random(seed) if seed is not None else Random()
        endpoint = cls(on_effect, loss=loss, random=random, on_trace=on_trace)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: endpoint, sock=_bound_socket(listen)
        )
        bound = transport.get_extra_info("sockname")
        address = advertise or written_address(bound[0], bound[1])
        endpoint.host = GossipHost(address, buffer_events, seed or random.getrandbits(63))
        return endpoint

    @property
    def address(self) -> Address:
        """What others send to."""
        return self.host.address

    def tell(self, fact: Fact) -> None:
        """Hand a fact to the machine and carry out what it orders."""
        self._carry_out(self.host.handle(fact, now=self._clock.now()))

    def resize(self, buffer_events: int) -> None:
        """This process has so much room for events from now on."""
        self._carry_out(self.host.resize(buffer_events, now=self._clock.now()))

    def why(self, group: str, token: int = 0) -> Why | None:
        """What holds this process's publications to a group back; None if it is not in it."""
        peer = self.host.peers.get(group)
        return None if peer is None else why(peer, token, now=self._clock.now())

    def close(self) -> None:
        """Fall silent without a word; leave the groups first to say farewell."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._telemetry.flush()
        self._transport.close()

    # -- what asyncio calls -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is there."""
        # The loops' own transports derive from no common class.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """A datagram came."""
        self.received_datagrams += 1
        if self._loss and self._random.random() < self._loss:
            return
        try:
            message = self._decoder.decode(data)
        except MalformedMessage as error:
            self.malformed_datagrams += 1
            logger.debug("a datagram from %s is no message: %s", addr[0], error)
            return
        if isinstance(message, WhyRequest):
            self._answer(message, addr)
        else:
            self.tell(DatagramReceived(written_address(addr[0], addr[1]), message))

    def error_received(self, exc: Exception) -> None:
        """A datagram could not be delivered: nobody listens there, which views find out alone."""
        logger.debug("a datagram was not delivered: %s", exc)

    # -- orders -----------------------------------------------------------------------------

    def _answer(self, request: WhyRequest, addr: tuple[Any, ...]) -> None:
        if not ip_address(addr[0]).is_loopback:
            return
        answer = self.why(request.group, request.token)
        if answer is not None:
            self._transport.sendto(encode_joined(answer), addr)

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        # The effects keep the messages alive, so their identities tell them apart.
        effects = list(effects)
        encoded: dict[int, bytes] = {}
        for effect in effects:
            if isinstance(effect, SendDatagram):
                message = effect.message
                if id(message) not in encoded:
                    encoded[id(message)] = encode_joined(message)
                self._send(effect.destination, encoded[id(message)])
            elif isinstance(effect, Trace):
                self._telemetry.add(effect.record)
            elif isinstance(effect, FromGroup):
                self._on_effect(effect.group, effect.effect)
        self._arm()

    def _send(self, destination: Address, data: bytes) -> None:
        socket_address = self._sockets.get(destination)
        if socket_address is None:
            try:
                socket_address = parse_address(destination)
                ip_address(socket_address[0])
            except ValueError:
                # A name that another peer made up, or one that must be resolved: both would block.
                logger.debug("%s is no numeric address", destination)
                return
            if len(self._sockets) >= SOCKETS_KEPT:
                self._sockets.clear()
            self._sockets[destination] = socket_address
        self.sent_datagrams += 1
        self._transport.sendto(data, socket_address)

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = self.host.next_deadline()
        if deadline is not None and not self._transport.is_closing():
            delay_s = max(0, deadline - self._clock.now()) / SECOND
            self._timer = asyncio.get_running_loop().call_later(delay_s, self._wake)

    def _wake(self) -> None:
        self._timer = None
        deadline = self.host.next_deadline()
        if deadline is not None and deadline <= self._clock.now():
            self.tell(DeadlineReached())
        else:
            self._arm()

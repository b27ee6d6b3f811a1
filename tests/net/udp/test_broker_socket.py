"""Who may speak to a broker in datagrams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest

from penstock.content.codec.datagram import DatagramDecoder, datagram_of, encode_message
from penstock.core.datagrams import ReceivedTogether, SendBestEffort, SendTogether
from penstock.core.machine import Fact, Received, SessionClosed
from penstock.core.message import Message
from penstock.net.udp.broker_socket import DatagramSocket
from penstock.net.wall_clock import WallClock
from penstock.overlay.messages import AddressBound, BindAddress
from penstock.overlay.wire import datagram_messages
from penstock.services.datagram.messages import EchoRequest

ECHO = EchoRequest("p@near", "s@near", 1)
PATIENCE_S = 60


class Client(asyncio.DatagramProtocol):
    """A socket that remembers what it hears."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Message] = asyncio.Queue()
        self.datagrams = 0
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        self.datagrams += 1
        for message in DatagramDecoder(datagram_messages()).decode(data):
            self.heard.put_nowait(message)

    def send(self, *messages: Message) -> None:
        self.transport.sendto(datagram_of([encode_message(each) for each in messages]))

    async def next(self) -> Message:
        return await asyncio.wait_for(self.heard.get(), PATIENCE_S)


class Broker:
    """The socket under test, and what it hands to the machine."""

    def __init__(self) -> None:
        self.facts: asyncio.Queue[Fact] = asyncio.Queue()
        self.socket = DatagramSocket(WallClock(), self._feed)

    def _feed(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            self.facts.put_nowait(fact)

    async def client(self) -> Client:
        made = Client()
        address = ("127.0.0.1", self.socket.port)
        loop = asyncio.get_running_loop()
        await loop.create_datagram_endpoint(lambda: made, remote_addr=address)
        return made

    async def bound_client(self, session: str) -> Client:
        made = await self.client()
        made.send(BindAddress(self.socket.offer(session).secret))
        assert await made.next() == AddressBound()
        return made


@pytest.fixture
async def broker() -> AsyncIterator[Broker]:
    made = Broker()
    await made.socket.open("127.0.0.1", 0, required=True)
    yield made
    made.socket.close()


async def test_who_shows_the_secret_is_heard_and_answered(broker: Broker) -> None:
    client = await broker.bound_client("client/1")
    client.send(ECHO, ECHO)
    fact = await asyncio.wait_for(broker.facts.get(), PATIENCE_S)
    assert fact == ReceivedTogether("client/1", [ECHO, ECHO])
    client.send(ECHO)
    assert await asyncio.wait_for(broker.facts.get(), PATIENCE_S) == Received("client/1", ECHO)
    broker.socket.send(SendBestEffort("client/1", ECHO))
    assert await client.next() == ECHO
    client.transport.close()


async def test_what_one_turn_brings_for_one_client_shares_a_datagram(broker: Broker) -> None:
    client = await broker.bound_client("client/1")
    before = client.datagrams
    broker.socket.send(SendBestEffort("client/1", ECHO))
    broker.socket.send(SendTogether("client/1", [ECHO, ECHO]))
    assert [await client.next() for _ in range(3)] == [ECHO] * 3
    assert client.datagrams == before + 1
    client.transport.close()


async def test_a_datagram_without_messages_changes_nothing(broker: Broker) -> None:
    client = await broker.bound_client("client/1")
    client.send()
    client.send(ECHO)
    assert await asyncio.wait_for(broker.facts.get(), PATIENCE_S) == Received("client/1", ECHO)
    client.transport.close()


async def test_strangers_and_garbage_are_counted_and_dropped(broker: Broker) -> None:
    known, stranger = await broker.bound_client("client/1"), await broker.client()
    stranger.send(ECHO)
    stranger.send(BindAddress(b"guessed"))
    stranger.transport.sendto(b"garbage")
    while broker.socket.dropped_datagrams < 3:
        # Datagrams of one sender arrive in order, those of two do not: ask until all were seen.
        known.send(ECHO)
        await asyncio.wait_for(broker.facts.get(), PATIENCE_S)
    assert broker.socket.dropped_datagrams == 3
    assert stranger.heard.empty()
    known.transport.close()
    stranger.transport.close()


async def test_a_session_that_is_closed_has_no_address_any_more(broker: Broker) -> None:
    client = await broker.bound_client("client/1")
    closed = SessionClosed("client/1")
    assert broker.socket.overheard([closed]) == [closed]
    client.send(ECHO)
    other = await broker.bound_client("client/2")
    while not broker.socket.dropped_datagrams:
        other.send(ECHO)
        await asyncio.wait_for(broker.facts.get(), PATIENCE_S)
    broker.socket.send(SendBestEffort("client/1", ECHO))
    broker.socket.send(SendBestEffort("client/2", ECHO))
    assert await other.next() == ECHO
    assert client.heard.empty()
    client.transport.close()
    other.transport.close()


async def test_a_taken_port_is_replaced_unless_it_is_required(broker: Broker) -> None:
    second = Broker()
    with pytest.raises(OSError, match="in use"):
        await second.socket.open("127.0.0.1", broker.socket.port, required=True)
    await second.socket.open("127.0.0.1", broker.socket.port, required=False)
    assert second.socket.port not in (0, broker.socket.port)
    second.socket.close()

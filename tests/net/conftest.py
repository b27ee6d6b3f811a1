"""What the tests of the network world share: peers that speak raw messages, brokers on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
import uvloop

from penstock.content.rows.batch import Batch
from penstock.core.message import Message
from penstock.net.broker.config import TelemetryConfig, broker_config
from penstock.net.broker.server import BrokerServer
from penstock.net.broker.status import BrokerStatus
from penstock.net.tcp.transport import Connection, ConnectionOptions, connect
from penstock.overlay.messages import Hello, Status, StatusRequest
from penstock.services.guaranteed.messages import (
    Delivery,
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
    Subscribe,
    Subscribed,
    Taken,
)

PATIENCE_S = 60  # only a hung broker waits this long

M = TypeVar("M", bound=Message)


class Peer:
    """One end of a connection that remembers everything, and that a test can wait for."""

    def __init__(self) -> None:
        self.connection: Connection
        self.opened = False
        self.messages: list[Message] = []
        self.chunks: list[list[Message]] = []
        self.closed_because: str | None = None
        self.writable_calls = 0
        self._changed = asyncio.Event()

    def on_open(self, connection: Connection) -> None:
        self.connection = connection
        self.opened = True
        self._changed.set()

    def on_messages(self, connection: Connection, messages: list[Message]) -> None:
        self.messages += messages
        self.chunks.append(messages)
        self._changed.set()

    def on_writable(self, connection: Connection) -> None:
        self.writable_calls += 1
        self._changed.set()

    def on_closed(self, connection: Connection, reason: str) -> None:
        self.closed_because = reason
        self._changed.set()

    def send(self, *messages: Message) -> None:
        for message in messages:
            self.connection.send(message)

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def heard(self, kind: type[M], where: Callable[[M], bool] = lambda _: True) -> M:
        """The first message of a kind, heard or to come."""
        found: list[M] = []

        def look() -> bool:
            found[:] = [m for m in self.messages if isinstance(m, kind) and where(m)]
            return bool(found)

        await self.until(look)
        return found[0]

    async def closed(self) -> str:
        await self.until(lambda: self.closed_because is not None)
        assert self.closed_because is not None
        return self.closed_because

    # -- what a client does -----------------------------------------------------------------

    async def subscribe(self, name: str, selector: str = "", **options: Any) -> Subscribed:
        self.send(Subscribe(name, selector, **options))
        return await self.heard(Subscribed, lambda m: m.subscription == name)

    async def publish(self, producer: str, first: int, payloads: list[bytes]) -> PublishReceipt:
        """Publish rows and wait for the receipt; opens the producer the first time."""
        if not any(isinstance(m, ProducerOpened) and m.producer == producer for m in self.messages):
            self.send(OpenProducer(producer))
            await self.heard(ProducerOpened, lambda m: m.producer == producer)
        batch = Batch.from_rows([({"topic": "t", "n": len(p)}, p) for p in payloads])
        self.send(Publish(producer, first, batch))
        return await self.heard(PublishReceipt, lambda m: m.first_sequence == first)

    def payloads(self, subscription: str) -> list[bytes]:
        """What was delivered, in order."""
        return [
            payload
            for message in self.messages
            if isinstance(message, Delivery) and message.subscription == subscription
            for payload in message.frame.batch.payload_rows()
        ]

    async def delivered(self, subscription: str, count: int) -> list[bytes]:
        await self.until(lambda: len(self.payloads(subscription)) >= count)
        return self.payloads(subscription)

    def take_all(self, subscription: str) -> None:
        weight = sum(m.frame.weight for m in self.messages if isinstance(m, Delivery))
        self.send(Taken(subscription, weight))

    async def status(self) -> BrokerStatus:
        self.messages = [m for m in self.messages if not isinstance(m, Status)]
        self.send(StatusRequest())
        answer = await self.heard(Status)
        return msgspec.json.decode(answer.document, type=BrokerStatus)


class Clients:
    """Dials, and hangs up at the end of the test."""

    def __init__(self) -> None:
        self._connections: list[Connection] = []

    async def __call__(
        self, host: str, port: int, name: str = "tester", options: ConnectionOptions | None = None
    ) -> Peer:
        peer = Peer()
        hello = Hello("client", name, 1, "test")
        self._connections.append(await connect(host, port, hello, peer, options=options))
        return peer

    async def hang_up(self) -> None:
        for connection in self._connections:
            connection.abort("the test is over")
            await connection.wait_closed()


class Brokers:
    """Brokers that run in the test's own event loop."""

    def __init__(self, directory: Path, dial: Clients) -> None:
        self._directory = directory
        self._dial = dial
        self._running: list[BrokerServer] = []

    async def start(self, name: str = "b", **settings: Any) -> BrokerServer:
        on_trace = settings.pop("on_trace", None)
        known = {
            "listen": "127.0.0.1:0",
            "data_dir": str(self._directory / name),
            "telemetry": TelemetryConfig(interval_s=0),
            **settings,
        }
        server = BrokerServer(broker_config(name, **known), on_trace)
        await server.start()
        self._running.append(server)
        return server

    async def stop(self, server: BrokerServer) -> None:
        self._running.remove(server)
        await server.stop()

    async def abandon(self, server: BrokerServer) -> None:
        self._running.remove(server)
        await server.abandon()

    async def client(
        self, server: BrokerServer, name: str = "tester", options: ConnectionOptions | None = None
    ) -> Peer:
        return await self._dial(server.address.host, server.address.port, name, options)

    async def stop_all(self) -> None:
        for server in reversed(self._running):
            await server.stop()


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Brokers run on uvloop, and so do their tests."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def peer_class() -> type[Peer]:
    return Peer


@pytest.fixture
async def dial_client() -> AsyncIterator[Clients]:
    clients = Clients()
    yield clients
    await clients.hang_up()


@pytest.fixture
async def brokers(tmp_path: Path, dial_client: Clients) -> AsyncIterator[Brokers]:
    started = Brokers(tmp_path, dial_client)
    yield started
    await started.stop_all()

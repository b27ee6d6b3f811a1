"""Mosquitto with the usual Python client: paho-mqtt, whose network loop is a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.harness.server import Server
from benchmarks.peers.mosquitto import TOPIC
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant, nothing
from benchmarks.peers.window import UNCONFIRMED, Window

QUALITY_OF_SERVICE: Final = 1
CONNECT_TIMEOUT_S: Final = 30.0


class TopicSender:
    """One call per message; the client's callback confirms it."""

    def __init__(self, client: Any) -> None:
        """The client's loop must be running."""
        loop = asyncio.get_running_loop()
        self._client = client
        self._window = Window()
        client.on_publish = lambda *_: loop.call_soon_threadsafe(self._window.leave, 1)

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """The client encodes."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Publish one by one, while the window has space."""
        await self._window.enter(count)
        for payload in burst:
            self._client.publish(TOPIC.decode(), payload, QUALITY_OF_SERVICE)

    async def settle(self) -> None:
        """Wait until every message is confirmed."""
        await self._window.empty()


class TopicReceiver:
    """Receives from the client's callback."""

    def __init__(self, arrived: asyncio.Queue[bytes]) -> None:
        """The subscription must be in force."""
        self._arrived = arrived

    async def receive(self) -> list[bytes]:
        """All queued messages, at least one."""
        payloads = [await self._arrived.get()]
        while not self._arrived.empty():
            payloads.append(self._arrived.get_nowait())
        return payloads

    async def settle(self) -> None:
        """The client acknowledges automatically."""


@asynccontextmanager
async def _connected(server: Server, name: str) -> AsyncIterator[Any]:
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    client = Client(CallbackAPIVersion.VERSION2, name)
    client.max_inflight_messages_set(UNCONFIRMED)
    loop = asyncio.get_running_loop()
    connected = asyncio.Event()
    client.on_connect = lambda *_: loop.call_soon_threadsafe(connected.set)
    client.connect("127.0.0.1", server.port)
    client.loop_start()
    try:
        await asyncio.wait_for(connected.wait(), CONNECT_TIMEOUT_S)
        yield client
    finally:
        client.disconnect()
        client.loop_stop()


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with _connected(server, "producer") as client:
        yield TopicSender(client)


@asynccontextmanager
async def open_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A subscriber; the sender's window bounds its queue."""
    async with _connected(server, name) as client:
        loop = asyncio.get_running_loop()
        arrived: asyncio.Queue[bytes] = asyncio.Queue()
        subscribed = asyncio.Event()
        client.on_subscribe = lambda *_: loop.call_soon_threadsafe(subscribed.set)
        client.on_message = lambda _, __, message: loop.call_soon_threadsafe(
            arrived.put_nowait, message.payload
        )
        client.subscribe(TOPIC.decode(), QUALITY_OF_SERVICE)
        await asyncio.wait_for(subscribed.wait(), CONNECT_TIMEOUT_S)
        yield TopicReceiver(arrived)


TOPIC_QOS_1: Final = Variant(
    "Mosquitto, QoS 1, paho-mqtt",
    Durability.NOTHING,
    open_sender,
    open_receiver,
    nothing,
    nothing,
    part=0.1,
    client="paho-mqtt",
    module="paho",
    fans_out=False,
    keeps=False,
)

"""NATS with the usual Python client: nats-py."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from benchmarks.harness.server import Server
from benchmarks.peers import nats as raw
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant, nothing

AT_ONCE: Final = 512
"""Messages of one fetch at most."""

PATIENCE_S: Final = 1.0
"""How long a fetch waits before it is repeated."""


def _url(server: Server) -> str:
    return f"nats://127.0.0.1:{server.port}"


class CoreSender:
    """One call per message, without confirmation; a flush at the end."""

    def __init__(self, client: Any) -> None:
        """``client`` must be connected."""
        self._client = client

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """The client encodes."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Publish one by one, then flush, without which the client's buffer would grow."""
        for payload in burst:
            await self._client.publish("bench", payload)
        await self._client.flush()

    async def settle(self) -> None:
        """Wait until the server has read everything."""
        await self._client.flush()


class CoreReceiver:
    """Receives one message at a time."""

    def __init__(self, subscription: Any) -> None:
        """The subscription must be in force."""
        self._subscription = subscription

    async def receive(self) -> list[bytes]:
        """The next message."""
        message = await self._subscription.next_msg(timeout=None)
        return [message.data]

    async def settle(self) -> None:
        """There is nothing to acknowledge."""


class StreamSender(CoreSender):
    """One call per message, with the client's own window of unconfirmed ones."""

    def __init__(self, stream: Any) -> None:
        """JetStream's context."""
        self._stream = stream

    async def send(self, burst: Any, count: int) -> None:
        """Publish one by one; a call waits only while too many are unconfirmed."""
        for payload in burst:
            await self._stream.publish_async("js", payload, wait_stall=60.0)

    async def settle(self) -> None:
        """Wait until all are confirmed."""
        await self._stream.publish_async_completed()


class StreamReceiver(CoreReceiver):
    """Fetches, and acknowledges each message."""

    async def receive(self) -> list[bytes]:
        """The messages of one fetch."""
        from nats.errors import TimeoutError as NothingCame

        while True:
            try:
                messages = await self._subscription.fetch(AT_ONCE, timeout=PATIENCE_S)
            except NothingCame:
                continue
            for message in messages:
                await message.ack()
            return [message.data for message in messages]


async def make_stream(server: Server, names: Sequence[str]) -> None:
    """Create a stream on disk, with a pull consumer for each name."""
    await raw.make_stream(server, ())
    wire = await raw.connected(server.port)
    for name in names:
        config = {"durable_name": name, "ack_policy": "explicit", "max_ack_pending": 16_384}
        await raw.make_consumer(wire, name, config)
    wire.close()


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[Any]:
    import nats

    client = await nats.connect(_url(server))
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def core_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with _connected(server) as client:
        yield CoreSender(client)


@asynccontextmanager
async def core_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A subscriber without the client's limit on queued messages: nothing may be lost."""
    async with _connected(server) as client:
        subscription = await client.subscribe(
            "bench", pending_msgs_limit=1 << 30, pending_bytes_limit=1 << 40
        )
        await client.flush()
        yield CoreReceiver(subscription)


@asynccontextmanager
async def stream_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with _connected(server) as client:
        yield StreamSender(client.jetstream(publish_async_max_pending=4096))


@asynccontextmanager
async def stream_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """The consumer of this name."""
    async with _connected(server) as client:
        stream = client.jetstream()
        yield StreamReceiver(await stream.pull_subscribe_bind(name, stream=raw.STREAM))


JETSTREAM: Final = Variant(
    "NATS JetStream, file, nats-py",
    Durability.WRITTEN,
    stream_sender,
    stream_receiver,
    make_stream,
    raw.delete_stream,
    part=0.1,
    client="nats-py",
    module="nats",
    fans_out=False,
    keeps=False,
)
CORE: Final = Variant(
    "NATS core, nats-py",
    Durability.NOTHING,
    core_sender,
    core_receiver,
    nothing,
    nothing,
    part=0.5,
    client="nats-py",
    module="nats",
    fans_out=False,
    keeps=False,
)

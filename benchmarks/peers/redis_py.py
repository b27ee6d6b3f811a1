"""Redis Streams with the usual Python client: redis-py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.harness.server import Server
from benchmarks.peers import redis as raw
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant


class StreamSender:
    """A pipeline for each burst."""

    def __init__(self, client: Any) -> None:
        """``client`` must be connected."""
        self._client = client

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """The client encodes."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """All messages are confirmed when the pipeline has been executed."""
        pipeline = self._client.pipeline(transaction=False)
        for payload in burst:
            pipeline.xadd(raw.STREAM, {b"p": payload})
        await pipeline.execute()

    async def settle(self) -> None:
        """It is."""


class GroupReceiver:
    """Reads for a group, and acknowledges the messages of each read."""

    def __init__(self, client: Any, group: str) -> None:
        """The group must exist."""
        self._client = client
        self._group = group

    async def receive(self) -> list[bytes]:
        """The messages of one read."""
        while True:
            read = await self._client.xreadgroup(
                self._group, "c", {raw.STREAM: ">"}, count=raw.AT_ONCE, block=raw.PATIENCE_MS
            )
            if not read:
                continue
            # A list of streams, or with the newer protocol a dictionary of lists of pages.
            messages = next(iter(read.values()))[0] if isinstance(read, dict) else read[0][1]
            await self._client.xack(raw.STREAM, self._group, *(each for each, _ in messages))
            return [fields[b"p"] for _, fields in messages]

    async def settle(self) -> None:
        """Nothing to do: messages are acknowledged on arrival."""


@asynccontextmanager
async def _connected(server: Server) -> AsyncIterator[Any]:
    from redis.asyncio import Redis

    async with Redis(port=server.port) as client:
        yield client


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with _connected(server) as client:
        yield StreamSender(client)


@asynccontextmanager
async def open_receiver(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """The only consumer of the group of this name."""
    async with _connected(server) as client:
        yield GroupReceiver(client, name)


def variant(sync: str, durability: Durability, part: float) -> Variant:
    """Streams on a server whose file is synced "always" or "everysec"."""
    return Variant(
        f"Redis Streams, AOF {sync}, redis-py",
        durability,
        open_sender,
        open_receiver,
        raw.make_stream,
        raw.clear,
        part=part,
        client="redis-py",
        module="redis",
        fans_out=False,
        keeps=False,
    )

"""Penstock, through its ordinary API: queues, an alias queue, and publish/subscribe.

Every confirmation is after the fsync, and so is every delivery.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import uvloop

import penstock
from benchmarks.peers.peer import Durability, Peer, Variant
from penstock.content.batch import Batch
from penstock.net.config import BrokerConfig
from penstock.net.config_file import write_config
from penstock.net.process import BrokerProcess
from penstock.queues.parameters import AliasConfig, QueueConfig

PREFETCH: Final = 16_384
BATCH_ROWS: Final = 512
BATCHES_UNDER_WAY: Final = 32


def _url(port: int) -> str:
    return f"penstock://127.0.0.1:{port}"


# -- queues ----------------------------------------------------------------------------------------


def send(port: int, count: int, payload: bytes, *, queue: str) -> float:
    """One call for each message."""

    async def work() -> float:
        async with penstock.connect(_url(port)) as client:
            sender = client.queues.sender(queue)
            await sender.open()
            began = time.time()
            for number in range(count):
                await sender.send({"n": number}, payload)
            await sender.flush(deadline_s=300)
            return began

    return uvloop.run(work())


def receive(port: int, count: int, size: int, ready: Callable[[], None]) -> float:
    """One message after the other, each acknowledged."""

    async def work() -> float:
        async with (
            penstock.connect(_url(port)) as client,
            client.queues.receive("work", prefetch=PREFETCH) as receiver,
        ):
            ready()
            left = count
            async for message in receiver:
                assert len(message.payload) == size
                message.ack()
                left -= 1
                if not left:
                    break
            await receiver.flush(deadline_s=300)
            return time.time()

    return uvloop.run(work())


# -- publish/subscribe -----------------------------------------------------------------------------


def publish(port: int, count: int, payload: bytes, *, batches: bool) -> float:
    """One call for each message, or prebuilt batches."""

    async def work() -> float:
        async with penstock.connect(_url(port)) as client, client.publisher() as publisher:
            began = time.time()
            if batches:
                batch = Batch.from_rows([({"topic": "bench"}, payload)] * BATCH_ROWS)
                under_way: set[asyncio.Task[object]] = set()
                for first in range(0, count, BATCH_ROWS):
                    some = batch.slice(0, min(BATCH_ROWS, count - first))
                    under_way.add(asyncio.create_task(publisher.publish_batch(some)))
                    if len(under_way) >= BATCHES_UNDER_WAY:
                        _, under_way = await asyncio.wait(
                            under_way, return_when=asyncio.FIRST_COMPLETED
                        )
                await asyncio.gather(*under_way)
            else:
                for _ in range(count):
                    await publisher.send({"topic": "bench"}, payload)
            await publisher.flush(deadline_s=300)
            return began

    return uvloop.run(work())


def subscribe(
    port: int, count: int, size: int, ready: Callable[[], None], *, batches: bool
) -> float:
    """One message after the other, or whole batches."""

    async def work() -> float:
        async with (
            penstock.connect(_url(port)) as client,
            client.subscribe(window_bytes=16 << 20) as stream,
        ):
            ready()
            left = count
            while left > 0:
                batch = await stream.next_batch(deadline_s=300)
                if batches:
                    left -= len(batch)
                    continue
                for message in stream.rows_of(batch):
                    assert len(message.payload) == size
                    left -= 1
            return time.time()

    return uvloop.run(work())


@contextmanager
def start(directory: Path) -> Iterator[int]:
    """One broker."""
    config = BrokerConfig(
        "bench",
        str(directory / "data"),
        listen="127.0.0.1:0",
        queues={"work": QueueConfig("work")},
        aliases={"orders": AliasConfig("orders", ("work@bench",))},
    )
    write_config(directory / "bench.toml", config)
    with BrokerProcess(directory / "bench.toml", directory / "bench.log") as broker:
        _, port = broker.address
        yield port


API: Final = "ordinary API, one call a message"

PEER: Final = Peer(
    "Penstock",
    "",
    "",
    start,
    (
        Variant(
            "Penstock queue", Durability.SYNCED, partial(send, queue="work"), receive, client=API
        ),
        Variant(
            "Penstock alias queue",
            Durability.SYNCED,
            partial(send, queue="orders"),
            receive,
            client=API,
        ),
        Variant(
            "Penstock publish/subscribe",
            Durability.SYNCED,
            partial(publish, batches=False),
            partial(subscribe, batches=False),
            client=API,
        ),
        Variant(
            "Penstock publish/subscribe, batches",
            Durability.SYNCED,
            partial(publish, batches=True),
            partial(subscribe, batches=True),
            part=2.0,
            client="batches of 512",
        ),
    ),
)

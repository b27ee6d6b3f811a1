"""Penstock, through its ordinary API: queues, an alias queue, and publish/subscribe.

Every confirmation and every delivery comes after the fsync.  Subscriptions are durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import penstock
from benchmarks.harness.server import Server
from benchmarks.peers.peer import Durability, Peer, Receiver, Selecting, Sender, Variant, nothing
from penstock.client.guaranteed.subscription import Subscription
from penstock.client.publishing.publisher import Publisher
from penstock.client.queues.receiver import Receiver as QueueReceiver
from penstock.content.rows.batch import Batch
from penstock.net.broker.config import broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess
from penstock.services.queues.parameters import AliasConfig, QueueConfig

PREFETCH: Final = 16_384
BATCHES_UNDER_WAY: Final = 32
WINDOW_BYTES: Final = 16 << 20
PATIENCE_S: Final = 300.0
"""Longer than the time limit of any run."""

ATTRIBUTES: Final = {"topic": "bench"}


def url(server: Server) -> str:
    """The broker's URL."""
    return f"penstock://127.0.0.1:{server.port}"


# -- senders ---------------------------------------------------------------------------------------


class CallSender:
    """One call for each message."""

    def __init__(self, publisher: Publisher, attributes: Sequence[dict[str, Any]]) -> None:
        """Messages have these attributes in turn."""
        self._publisher = publisher
        self._attributes = cycle(attributes)

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """Nothing to encode: the API takes payloads."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Call by call; each waits only for window space."""
        send = self._publisher.send
        for attributes, payload in zip(self._attributes, burst, strict=False):
            await send(attributes, payload, deadline_s=PATIENCE_S)

    async def settle(self) -> None:
        """Wait until everything is on stable storage."""
        await self._publisher.flush(deadline_s=PATIENCE_S)


class BatchSender(CallSender):
    """Sends a burst as one batch."""

    def __init__(self, publisher: Publisher) -> None:
        """No batch is in flight."""
        super().__init__(publisher, [ATTRIBUTES])
        self._under_way: set[asyncio.Task[object]] = set()

    def encode(self, payloads: list[bytes]) -> Any:
        """The columns of a batch."""
        return Batch.from_rows([(ATTRIBUTES, payload) for payload in payloads])

    async def send(self, burst: Any, count: int) -> None:
        """Send the batch, and wait while too many are in flight."""
        sending = self._publisher.publish_batch(burst, deadline_s=PATIENCE_S)
        self._under_way.add(asyncio.create_task(sending))
        if len(self._under_way) >= BATCHES_UNDER_WAY:
            done, self._under_way = await asyncio.wait(
                self._under_way, return_when=asyncio.FIRST_COMPLETED
            )
            for each in done:
                each.result()
        else:
            await asyncio.sleep(0)

    async def settle(self) -> None:
        """Wait until everything is on stable storage."""
        await asyncio.gather(*self._under_way)
        await super().settle()


@asynccontextmanager
async def queue_sender(server: Server, size: int, *, queue: str) -> AsyncIterator[Sender]:
    """Sends to a queue."""
    async with penstock.connect(url(server)) as client:
        sender = client.queues.sender(queue)
        await sender.open()
        yield CallSender(sender, [ATTRIBUTES])


@asynccontextmanager
async def publisher(server: Server, size: int, *, batches: bool) -> AsyncIterator[Sender]:
    """Publishes, message by message or in batches."""
    async with penstock.connect(url(server)) as client, client.publisher() as publishing:
        yield BatchSender(publishing) if batches else CallSender(publishing, [ATTRIBUTES])


# -- receivers -------------------------------------------------------------------------------------


class WorkReceiver:
    """Receives one message at a time and acknowledges each."""

    def __init__(self, receiver: QueueReceiver) -> None:
        """``receiver`` must be open."""
        self._receiver = receiver

    async def receive(self) -> list[bytes]:
        """The messages of a batch, one by one."""
        batch = await self._receiver.next_batch(deadline_s=PATIENCE_S)
        assert batch is not None, "the receiver is closed"
        payloads = []
        for message in batch:
            payloads.append(message.payload)
            message.ack()
        return payloads

    async def settle(self) -> None:
        """Wait until all acknowledgements are on stable storage."""
        await self._receiver.flush(deadline_s=PATIENCE_S)


class StreamReceiver:
    """Receives messages or whole batches; reading the next acknowledges the current one."""

    def __init__(self, subscription: Subscription, *, batches: bool) -> None:
        """``subscription`` must be open."""
        self._subscription = subscription
        self._batches = batches

    async def receive(self) -> list[bytes]:
        """The messages that arrived together."""
        batch = await self._subscription.next_batch(deadline_s=PATIENCE_S)
        if self._batches:
            return batch.payloads
        return [message.payload for message in self._subscription._rows_of(batch)]

    async def settle(self) -> None:
        """The position is sent when the subscription is closed."""


@asynccontextmanager
async def worker(server: Server, name: str, size: int) -> AsyncIterator[Receiver]:
    """A consumer of the queue."""
    async with (
        penstock.connect(url(server)) as client,
        client.queues.receive("work", prefetch=PREFETCH) as receiver,
    ):
        yield WorkReceiver(receiver)


@asynccontextmanager
async def subscriber(
    server: Server, name: str, size: int, *, batches: bool
) -> AsyncIterator[Receiver]:
    """A durable subscription."""
    async with (
        penstock.connect(url(server)) as client,
        client.subscribe(durable=name, window_bytes=WINDOW_BYTES) as subscription,
    ):
        yield StreamReceiver(subscription, batches=batches)


async def subscribe(server: Server, names: Sequence[str]) -> None:
    """Create the subscriptions, which collect from now on."""
    async with penstock.connect(url(server)) as client:
        for name in names:
            async with client.subscribe(durable=name):
                pass


async def unsubscribe(server: Server, names: Sequence[str]) -> None:
    """Delete them."""
    async with penstock.connect(url(server)) as client:
        for name in names:
            await client.delete_subscription(name)


# -- selectors -------------------------------------------------------------------------------------


def _attributes(number: int) -> dict[str, Any]:
    return {"kind": f"k{number}", "region": "north"}


def _selected(count: int) -> list[str]:
    return [f"selected-{number}" for number in range(count)]


async def prepare_selectors(server: Server, names: Sequence[str], *, selectors: int) -> None:
    """The receiver creates the subscriptions."""


async def clear_selectors(server: Server, names: Sequence[str], *, selectors: int) -> None:
    """Delete them."""
    await unsubscribe(server, _selected(selectors))


@asynccontextmanager
async def selected_sender(server: Server, size: int, *, selectors: int) -> AsyncIterator[Sender]:
    """Sends messages that match the selectors in turn."""
    async with penstock.connect(url(server)) as client, client.publisher() as publishing:
        yield CallSender(publishing, [_attributes(number) for number in range(selectors)])


class ManyReceivers:
    """Receives from many subscriptions over one connection."""

    def __init__(self, receivers: list[StreamReceiver]) -> None:
        """Every receiver has its own task; the number of receivers bounds the queue here."""
        self._came: asyncio.Queue[list[bytes]] = asyncio.Queue(len(receivers))
        self._tasks = [asyncio.create_task(self._read(each)) for each in receivers]

    async def _read(self, receiver: StreamReceiver) -> None:
        while True:
            await self._came.put(await receiver.receive())

    async def receive(self) -> list[bytes]:
        """The next payloads of any subscription."""
        return await self._came.get()

    async def settle(self) -> None:
        """The positions are sent when the subscriptions are closed."""

    async def stop(self) -> None:
        """Stop reading."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def selected_receiver(
    server: Server, name: str, size: int, *, selectors: int
) -> AsyncIterator[Receiver]:
    """A durable subscription for each selector, over one connection."""
    async with penstock.connect(url(server)) as client:
        subscriptions = [
            client.subscribe(f"kind = 'k{number}' AND region = 'north'", durable=name)
            for number, name in enumerate(_selected(selectors))
        ]
        await asyncio.gather(*(each.open(deadline_s=PATIENCE_S) for each in subscriptions))
        many = ManyReceivers([StreamReceiver(each, batches=False) for each in subscriptions])
        yield many
        await many.stop()


SELECTORS: Final = Selecting(
    prepare_selectors,
    selected_sender,
    selected_receiver,
    clear_selectors,
)


# -- the broker ------------------------------------------------------------------------------------


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """One broker."""
    config = broker_config(
        "bench",
        str(directory / "data"),
        listen="127.0.0.1:0",
        queues={"work": QueueConfig("work")},
        aliases={"orders": AliasConfig("orders", ("work@bench",))},
    )
    write_config(directory / "bench.toml", config)
    with BrokerProcess(directory / "bench.toml", directory / "bench.log") as broker:
        ready = broker.ready
        assert ready is not None, "the broker did not start"
        yield Server(ready.port, ready.process)


API: Final = "ordinary API, one call a message"
QUEUE: Final = "Penstock queue"
ALIAS: Final = "Penstock alias queue"
PUBLISH: Final = "Penstock publish/subscribe"
BATCHES: Final = "Penstock publish/subscribe, batches"


def _queue_variant(name: str, queue: str) -> Variant:
    return Variant(
        name,
        Durability.SYNCED,
        partial(queue_sender, queue=queue),
        worker,
        nothing,
        nothing,
        client=API,
        fans_out=False,
        keeps=False,
    )


def _publish_variant(
    name: str, client: str, part: float, batches: bool, selecting: Selecting | None = None
) -> Variant:
    return Variant(
        name,
        Durability.SYNCED,
        partial(publisher, batches=batches),
        partial(subscriber, batches=batches),
        subscribe,
        unsubscribe,
        part=part,
        client=client,
        selecting=selecting,
    )


PEER: Final = Peer(
    "Penstock",
    "",
    "",
    start,
    (
        _queue_variant(QUEUE, "work"),
        _queue_variant(ALIAS, "orders"),
        _publish_variant(PUBLISH, API, 6.0, False, SELECTORS),
        _publish_variant(BATCHES, "batches of 512", 15.0, True),
    ),
)

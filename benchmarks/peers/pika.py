"""RabbitMQ with the usual Python client: pika's blocking connection.

Every call runs in a thread, so that the measuring loop can read its clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from benchmarks.harness.server import Server
from benchmarks.peers import rabbitmq as raw
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant

PATIENCE_S: Final = 0.1
"""How long a call waits for messages before it is repeated."""

PREFETCH: Final = 1000
AT_ONCE: Final = 64
"""Messages that are acknowledged together."""


class QueueSender:
    """One call per message, each of which waits for its confirmation."""

    def __init__(self, channel: Any) -> None:
        """The channel must be in confirm mode."""
        import pika

        self._channel = channel
        self._properties = pika.BasicProperties(delivery_mode=2)

    def encode(self, payloads: list[bytes]) -> list[bytes]:
        """The client encodes."""
        return payloads

    async def send(self, burst: Any, count: int) -> None:
        """Publish one by one."""
        await asyncio.to_thread(self._publish, burst)

    async def settle(self) -> None:
        """Nothing to wait for: every call has waited."""

    def _publish(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            self._channel.basic_publish(raw.EXCHANGE, "", payload, self._properties)


class QueueReceiver:
    """Consumes a queue, and acknowledges a few messages together."""

    def __init__(self, channel: Any, queue: str) -> None:
        """The channel is used by this receiver alone."""
        self._channel = channel
        self._queue = queue

    async def receive(self) -> list[bytes]:
        """A few messages, or fewer if no more arrive immediately."""
        payloads: list[bytes] = []
        while not payloads:
            payloads = await asyncio.to_thread(self._take)
        return payloads

    async def settle(self) -> None:
        """Nothing to do: messages are acknowledged on arrival."""

    def _take(self) -> list[bytes]:
        payloads: list[bytes] = []
        tag = None
        for method, _, body in self._channel.consume(self._queue, inactivity_timeout=PATIENCE_S):
            if method is None:
                break
            payloads.append(body)
            tag = method.delivery_tag
            if len(payloads) >= AT_ONCE or not self._channel.get_waiting_message_count():
                break
        if tag is not None:
            self._channel.basic_ack(tag, multiple=True)
        return payloads


@asynccontextmanager
async def _channel(server: Server) -> AsyncIterator[Any]:
    import pika

    parameters = pika.ConnectionParameters("127.0.0.1", server.port, heartbeat=0)
    connection = pika.BlockingConnection(parameters)
    try:
        yield connection.channel()
    finally:
        connection.close()


@asynccontextmanager
async def open_sender(server: Server, size: int) -> AsyncIterator[Sender]:
    """A producer."""
    async with _channel(server) as channel:
        channel.confirm_delivery()
        yield QueueSender(channel)


@asynccontextmanager
async def open_receiver(
    server: Server, name: str, size: int, *, kind: str
) -> AsyncIterator[Receiver]:
    """The consumer of a subscription's queue."""
    async with _channel(server) as channel:
        channel.basic_qos(prefetch_count=PREFETCH)
        yield QueueReceiver(channel, f"{kind}-{name}")


def variant(kind: str, durability: Durability, part: float) -> Variant:
    """Queues of one kind."""
    return Variant(
        f"RabbitMQ {kind}, pika",
        durability,
        open_sender,
        partial(open_receiver, kind=kind),
        partial(raw.prepare, kind=kind),
        partial(raw.clear, kind=kind),
        part=part,
        client="pika",
        module="pika",
        fans_out=False,
        keeps=False,
    )

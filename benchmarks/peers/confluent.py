"""Kafka with the fast Python client: confluent-kafka, which is librdkafka.

It follows the documentation's advice: messages are passed and received in batches, and only errors
are reported.  Everything else is the default: acknowledged by all replicas, of which there is one;
collected for 5 ms; at most 100,000 messages in flight; committed every 5 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from benchmarks.harness.server import Server
from benchmarks.peers import kafka as raw
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant

AT_ONCE: Final = 512
"""Messages that are received together at most."""

WAIT_S: Final = 0.05
"""How long a call waits; the process must notice in between that it is to stop."""

WAIT_FOR_ROOM_S: Final = 0.001
UNDER_WAY: Final = 100_000
"""The client's own bound (``queue.buffering.max.messages``); more messages are refused."""

SETTLED_WITHIN_S: Final = 60.0
MEMBER_GONE_AFTER_MS: Final = 6_000
"""The broker's minimum: a client that ended is soon removed."""


class ProducerSender:
    """One call per burst; the client forms its own batches."""

    def __init__(self, address: str, topic: raw.Topic) -> None:
        """Connects with the first message."""
        from confluent_kafka import Producer

        self._topic = topic.name
        self._failure: Any = None
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "delivery.report.only.error": True,
                "on_delivery": self._failed,
            }
        )

    def encode(self, payloads: list[bytes]) -> list[dict[str, bytes]]:
        """In the form that the client expects."""
        return [{"value": payload} for payload in payloads]

    async def send(self, burst: Any, count: int) -> None:
        """Wait for space in the client's queue."""
        while len(self._producer) + count > UNDER_WAY:
            self._producer.poll(WAIT_FOR_ROOM_S)
        queued = self._producer.produce_batch(self._topic, burst)
        if queued != count:
            raise RuntimeError(f"confluent-kafka accepted {queued} of {count} messages")
        self._producer.poll(0)
        self._check()

    async def settle(self) -> None:
        """Wait until all are confirmed."""
        left = self._producer.flush(SETTLED_WITHIN_S)
        self._check()
        if left:
            raise RuntimeError(f"Kafka has not confirmed {left} messages")

    def _failed(self, error: Any, message: Any) -> None:
        self._failure = error

    def _check(self) -> None:
        if self._failure is not None:
            raise RuntimeError(f"Kafka refused a message: {self._failure}")


class ConsumerReceiver:
    """Receives what the client has fetched meanwhile."""

    def __init__(self, consumer: Any) -> None:
        """``consumer`` must be subscribed."""
        self._consumer = consumer
        self._first: Any = None

    async def poll(self) -> None:
        """Wait briefly for a message; this also runs the client's other work."""
        self._first = self._consumer.poll(WAIT_S)
        await asyncio.sleep(0)

    async def receive(self) -> list[bytes]:
        """The fetched messages; waits for the first."""
        while self._first is None:
            await self.poll()
        messages = [self._first, *self._consumer.consume(AT_ONCE - 1, 0)]
        self._first = None
        for message in messages:
            if message.error() is not None:
                raise RuntimeError(f"Kafka refused: {message.error()}")
        return [message.value() for message in messages]

    async def settle(self) -> None:
        """Commit, and wait for the answer."""
        self._consumer.commit(asynchronous=False)


@asynccontextmanager
async def open_sender(server: Server, size: int, *, topic: raw.Topic) -> AsyncIterator[Sender]:
    """A producer."""
    yield ProducerSender(f"127.0.0.1:{server.port}", topic)


@asynccontextmanager
async def open_receiver(
    server: Server, name: str, size: int, *, topic: raw.Topic
) -> AsyncIterator[Receiver]:
    """The only member of the group of this name, which owns its partition."""
    from confluent_kafka import Consumer

    consumer = Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{server.port}",
            "group.id": name,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": MEMBER_GONE_AFTER_MS,
        }
    )
    assigned: list[Any] = []
    consumer.subscribe([topic.name], on_assign=lambda _, partitions: assigned.extend(partitions))
    receiver = ConsumerReceiver(consumer)
    try:
        while not assigned:
            await receiver.poll()
        yield receiver
    finally:
        consumer.close()


def variant(name: str, durability: Durability, topic: raw.Topic, part: float) -> Variant:
    """The same topics as those of the raw client."""
    return Variant(
        f"{name}, confluent-kafka",
        durability,
        partial(open_sender, topic=topic),
        partial(open_receiver, topic=topic),
        partial(raw.make_topic, topic=topic),
        partial(raw.delete_topic, topic=topic),
        part=part,
        client="confluent-kafka",
        module="confluent_kafka",
        fans_out=False,
        keeps=False,
    )

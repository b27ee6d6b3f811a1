"""The cost of the client library for each message, without a network.

Run with ``python -m benchmarks.client_cost``.  The publishing half talks to a broker that confirms
everything immediately; the subscribing half reads deliveries that were decoded from bytes, as they
arrive from the wire.  Both include the encoding or decoding of their batches.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, cast

import uvloop

from penstock.client.guaranteed.message import Message
from penstock.client.guaranteed.reader import Reader, ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.publisher import Publisher
from penstock.client.session import Participant, Session
from penstock.content.codec.stream import encode
from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.message import Message as WireMessage
from penstock.overlay.wire import connection_decoder
from penstock.services.guaranteed.messages import (
    Delivery,
    OpenProducer,
    ProducerOpened,
    Publish,
    PublishReceipt,
    Subscribed,
)

MESSAGES = 204_800
BATCH_ROWS = 512
REPEATS = 5
"""The figure is the best of this many repetitions: the rest is noise of the machine."""

ROOM_BYTES = 256 * 1024
"""The write buffer of a connection (penstock.net.tcp.connection)."""

PAYLOAD = b"x" * 100


def attributes(number: int) -> dict[str, str | int | float]:
    """The attributes of a message of an ordinary feed."""
    return {"topic": f"prices/{number % 20}", "price": 0.5 * number, "number": number}


class ImmediateBroker:
    """Replaces a session: encodes what it is sent, and confirms it immediately."""

    failure = None

    def __init__(self) -> None:
        self._participant: Participant | None = None
        self._scheduled = False

    def join(self, key: str, participant: Participant) -> None:
        self._participant = participant
        participant.connected()

    def wake(self, key: str) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._pump)

    def leave(self, key: str) -> None:
        pass

    def describe(self) -> str:
        return "at the benchmark"

    def _pump(self) -> None:
        self._scheduled = False
        assert self._participant is not None
        for message in self._participant.outgoing(time.monotonic_ns(), ROOM_BYTES):
            encode(message)
            self._participant.received(confirmation(message))
            self.wake("")


def confirmation(message: WireMessage) -> WireMessage:
    """A broker's answer to a message."""
    if isinstance(message, OpenProducer):
        return ProducerOpened(message.producer, "p", 0)
    assert isinstance(message, Publish)
    return PublishReceipt(message.producer, message.first_sequence, len(message.batch), 1)


def producer_alone() -> None:
    """The pure half: takes rows, returns encoded batches."""
    limits = PublishLimits()
    producer = Producer("benchmark", limits)
    producer.connected()
    producer.want()
    producer.outgoing(0, ROOM_BYTES)
    producer.received(ProducerOpened("benchmark", "p", 0))
    for number in range(MESSAGES):
        producer.add(attributes(number), PAYLOAD)
        if producer.has_batches_to_send:
            for message in producer.outgoing(0, ROOM_BYTES):
                encode(message)
                producer.received(cast(PublishReceipt, confirmation(message)))


def make_publisher() -> Publisher:
    """A publisher with an immediate broker."""
    limits = PublishLimits()
    session = cast(Session, ImmediateBroker())
    return Publisher(
        session, Producer("benchmark", limits), batch_rows=limits.batch_rows, deadline_s=60
    )


async def publisher_send() -> None:
    """``await publisher.send(...)`` for each message, and a flush."""
    publisher = make_publisher()
    for number in range(MESSAGES):
        await publisher.send(attributes(number), PAYLOAD)
    await publisher.flush()


async def publisher_try() -> None:
    """``publisher.try_publish(...)``, waiting only when the window is full."""
    publisher = make_publisher()
    for number in range(MESSAGES):
        while publisher.try_publish(attributes(number), PAYLOAD) is None:
            await publisher.flush()
    await publisher.flush()


async def publisher_publish() -> None:
    """``await publisher.publish(...)`` in a hundred tasks: a receipt for each message."""
    publisher = make_publisher()

    async def publish(count: int) -> None:
        for number in range(count):
            await publisher.publish(attributes(number), PAYLOAD)

    await asyncio.gather(*(publish(MESSAGES // 100) for _ in range(100)))


def building_attributes() -> None:
    """The cost of the caller's own dictionaries, which every figure above includes."""
    for number in range(MESSAGES):
        attributes(number)


class Deliveries:
    """Encoded deliveries of all messages, decoded again for each repetition."""

    def __init__(self) -> None:
        self._encoded: list[bytes] = []
        for low in range(0, MESSAGES, BATCH_ROWS):
            rows = [(attributes(number), PAYLOAD) for number in range(low, low + BATCH_ROWS)]
            ticks = range(low, low + BATCH_ROWS)
            frame = Frame(low, low + BATCH_ROWS, ticks, Batch.from_rows(rows))
            self._encoded.append(b"".join(encode(Delivery("s", "p", frame))))

    def batches(self, *, explicit: bool = False) -> Iterator[tuple[Reader, Any]]:
        """Each batch as the reader returns it, right after it has arrived."""
        decoder = connection_decoder()
        reader = Reader("s", "", Start(), ReaderOptions(explicit=explicit, durable=True))
        reader.connected()
        reader.outgoing(0)
        reader.received(Subscribed("s", {"p": 0}))
        for data in self._encoded:
            reader.received(cast(Delivery, decoder.decode(data)))
            yield reader, reader.take()
            reader.outgoing(0)

    def messages(self, *, explicit: bool = False) -> Iterator[Message]:
        """Each message."""
        for reader, batch in self.batches(explicit=explicit):
            yield from reader.rows_of(batch)

    async def async_messages(self) -> AsyncIterator[Message]:
        """Each message, as ``async for`` returns it."""
        for reader, batch in self.batches():
            await asyncio.sleep(0)
            for message in reader.rows_of(batch):
                yield message


def consume(deliveries: Deliveries) -> dict[str, Callable[[], None]]:
    """Typical ways in which an application consumes its messages."""

    keep = deque[object](maxlen=1).append

    def batches() -> None:
        for _ in deliveries.batches():
            pass

    def nothing() -> None:
        for _ in deliveries.messages():
            pass

    def one_attribute() -> None:
        for message in deliveries.messages():
            keep(message["number"])

    def payload() -> None:
        for message in deliveries.messages():
            keep(message.payload)

    def all_attributes() -> None:
        for message in deliveries.messages():
            keep(message.attributes)

    def everything() -> None:
        for message in deliveries.messages():
            keep((message.attributes, message.payload, message.tick))

    def acknowledge() -> None:
        for message in deliveries.messages(explicit=True):
            message.ack()

    async def iterate() -> None:
        async for message in deliveries.async_messages():
            keep(message["number"])

    return {
        "receive: batches only": batches,
        "receive: messages, nothing read": nothing,
        "receive: one attribute": one_attribute,
        "receive: payload": payload,
        "receive: all attributes": all_attributes,
        "receive: attributes, payload and tick": everything,
        "receive: explicit acknowledgement": acknowledge,
        "receive: async for, one attribute": as_function(iterate),
    }


def as_function(coroutine: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Run a coroutine to its end."""
    return lambda: uvloop.run(coroutine())


def best_seconds(function: Callable[[], None]) -> float:
    """The fastest of several repetitions."""
    best = float("inf")
    for _ in range(REPEATS):
        # The time of this process alone: other load on the machine is not the client's cost.
        started = time.process_time()
        function()
        best = min(best, time.process_time() - started)
    return best


def main() -> None:
    """Print messages per second and nanoseconds per message."""
    cases: dict[str, Callable[[], None]] = {
        "publish: the caller's dictionaries alone": building_attributes,
        "publish: producer, no event loop": producer_alone,
        "publish: await publisher.send": as_function(publisher_send),
        "publish: publisher.try_publish": as_function(publisher_try),
        "publish: await publisher.publish, 100 tasks": as_function(publisher_publish),
        **consume(Deliveries()),
    }
    for name, function in cases.items():
        seconds = best_seconds(function)
        print(f"{name:<45}{MESSAGES / seconds:>12,.0f}/s{seconds / MESSAGES * 1e9:>8.0f} ns")


if __name__ == "__main__":
    main()

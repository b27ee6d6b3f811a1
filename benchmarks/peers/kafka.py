"""Kafka over raw sockets: a topic of one partition, and a consumer group for each subscription.

A burst is one Produce request with one record batch.  A broker processes the requests of a
connection one after the other, so few are in flight: a delayed producer sends more in one request,
as Kafka's own clients do.

A reader requests the next batches before it decodes the last ones, and does not check their
checksums (neither does librdkafka by default).  It commits its offset every five seconds and at the
end, as Kafka's own clients do; a reader that returns begins there.

``Kafka, flushed`` has a topic with ``flush.messages=1``: every batch is synced before it is
acknowledged.  Kafka's default leaves that to the kernel, because it relies on replicas.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import msgspec

from benchmarks.harness.server import Server
from benchmarks.peers import kafka_requests as requests
from benchmarks.peers.kafka_records import batch_heads, payloads_of, record_batch
from benchmarks.peers.peer import Durability, Receiver, Sender, Variant
from benchmarks.peers.window import ConfirmedSender, Window
from benchmarks.peers.wire import Wire

COMMIT_EVERY_S: Final = 5.0
"""The default of ``auto.commit.interval.ms``."""

LOOK_EVERY_S: Final = 0.05
GIVE_UP_S: Final = 60.0
"""A member that died is removed after 45 s, unless it requested less."""


class Topic(msgspec.Struct, frozen=True):
    """A topic, its non-default settings, and how it is written to."""

    name: str
    requests_under_way: int
    settings: dict[str, str] = {}


FLUSHED: Final = Topic("flushed", 2, {"flush.messages": "1"})
"""Further requests only wait for the disk: in two short runs of each, five had twice the p50 delay
of two.  The runs differed among themselves by as much, so this is a choice, not a finding."""

DEFAULT: Final = Topic("default", 5)
"""The clients' default (``max.in.flight.requests.per.connection``)."""


class KafkaConnection:
    """Sends one request after another."""

    def __init__(self, wire: Wire) -> None:
        """Made by ``open``."""
        self.wire = wire
        self._last_question = 0

    @classmethod
    async def open(cls, server: Server) -> KafkaConnection:
        """Connect."""
        return cls(await Wire.open(server.port))

    async def ask(self, api: requests.Api, body: bytes) -> bytes:
        """The answer."""
        await self.begin(api, body)
        return await self.answer()

    async def begin(self, api: requests.Api, body: bytes) -> None:
        """Send a request, and read the answer later."""
        self._last_question += 1
        await self.wire.send(requests.request(api, self._last_question, body))

    async def answer(self) -> bytes:
        """The answer to the last request."""
        size = int.from_bytes(await self.wire.exactly(4), "big")
        answer = await self.wire.exactly(size)
        number = int.from_bytes(answer[:4], "big")
        if number != self._last_question:
            raise RuntimeError(f"Kafka answered {number} instead of {self._last_question}")
        return answer[4:]


def check(api: requests.Api, error: int) -> None:
    """Raise if there is an error."""
    if error != requests.OK:
        raise RuntimeError(f"Kafka refused {api.name} with error {error}")


async def _until(api: requests.Api, wanted: set[int], error: Callable[[], Awaitable[int]]) -> None:
    """Repeat the request until the broker has finished: it answers before everything is done."""
    until = time.monotonic() + GIVE_UP_S
    while (last := await error()) not in wanted:
        if time.monotonic() > until:
            raise RuntimeError(f"Kafka still answers {last} to {api.name} after {GIVE_UP_S:g} s")
        await asyncio.sleep(LOOK_EVERY_S)


# -- messages --------------------------------------------------------------------------------------


class TopicSender(ConfirmedSender):
    """One request per burst; the answers arrive in the order of the requests."""

    def __init__(self, wire: Wire, topic: Topic) -> None:
        """The topic must exist."""
        from crc32c import crc32c

        super().__init__(wire)
        self.window = Window(topic.requests_under_way)
        self._checksum = crc32c
        self._topic = topic.name
        self._reader = requests.answer_reader()

    def encode(self, payloads: list[bytes]) -> bytes:
        """One request with one record batch."""
        # The current time, so that the broker does not consider them expired.
        batch = record_batch(payloads, time.time_ns() // 1_000_000, self._checksum)
        return requests.request(requests.PRODUCE, 0, requests.produce(self._topic, batch))

    async def send(self, burst: Any, count: int) -> None:
        """One request per burst, whatever its size."""
        await super().send(burst, 1)

    def confirmations(self, data: bytes) -> int:
        """The number of successfully answered requests."""
        answers = self._reader.feed(data)
        for _, answer in answers:
            check(requests.PRODUCE, requests.produced(answer))
        return len(answers)


class GroupReceiver:
    """Reads the partition, and commits for its group over a separate connection."""

    def __init__(
        self,
        reading: KafkaConnection,
        committing: KafkaConnection,
        group: str,
        topic: Topic,
        size: int,
        offset: int,
    ) -> None:
        """``offset`` is the first one that the group has not read."""
        self._reading = reading
        self._committing = committing
        self._group = group
        self._topic = topic.name
        self._size = size
        self._next = offset
        self._commit_at = time.monotonic() + COMMIT_EVERY_S

    async def ask(self) -> None:
        """Request the next batches."""
        await self._reading.begin(requests.FETCH, requests.fetch(self._topic, self._next))

    async def receive(self) -> list[bytes]:
        """The payloads of the received batches."""
        if time.monotonic() >= self._commit_at:
            await self._commit()
        while True:
            error, data = requests.fetched(await self._reading.answer())
            check(requests.FETCH, error)
            had, batches = self._next, list(batch_heads(data))
            if batches:
                self._next = batches[-1].following
            await self.ask()
            if batches:
                payloads = [
                    each for batch in batches for each in payloads_of(data, batch, self._size)
                ]
                # The first batch may begin before the requested offset.
                return payloads[had - batches[0].first :]

    async def settle(self) -> None:
        """Commit, and wait for the answer."""
        await self._commit()

    async def _commit(self) -> None:
        body = requests.commit(self._group, self._topic, self._next)
        answer = await self._committing.ask(requests.OFFSET_COMMIT, body)
        check(requests.OFFSET_COMMIT, requests.committed(answer))
        self._commit_at = time.monotonic() + COMMIT_EVERY_S


# -- topics and groups -----------------------------------------------------------------------------


async def make_topic(server: Server, names: Sequence[str], *, topic: Topic) -> None:
    """Create an empty topic, and groups without offsets."""
    connection = await KafkaConnection.open(server)
    await _delete(connection, topic)
    await _forget_groups(connection, names)
    body = requests.create_topic(topic.name, topic.settings)
    (error,) = requests.errors_by_name(await connection.ask(requests.CREATE_TOPICS, body))
    check(requests.CREATE_TOPICS, error)
    await _until(requests.FETCH, {requests.OK}, partial(_fetch_error, connection, topic))
    connection.wire.close()


async def delete_topic(server: Server, names: Sequence[str], *, topic: Topic) -> None:
    """Delete the topic with its messages; its groups are deleted before they are used again."""
    connection = await KafkaConnection.open(server)
    await _delete(connection, topic)
    connection.wire.close()


async def _delete(connection: KafkaConnection, topic: Topic) -> None:
    answer = await connection.ask(requests.DELETE_TOPICS, requests.delete_topic(topic.name))
    (error,) = requests.errors_by_name(answer)
    if error != requests.NO_TOPIC:
        check(requests.DELETE_TOPICS, error)
    await _until(requests.FETCH, {requests.NO_TOPIC}, partial(_fetch_error, connection, topic))


async def _fetch_error(connection: KafkaConnection, topic: Topic) -> int:
    answer = await connection.ask(requests.FETCH, requests.fetch(topic.name, 0, wait_ms=0))
    return requests.fetched(answer)[0]


async def _forget_groups(connection: KafkaConnection, names: Sequence[str]) -> None:
    """Delete the groups once their last member has left; the first request makes the broker
    create the topic of offsets."""

    async def coordinator_error() -> int:
        answer = await connection.ask(requests.FIND_COORDINATOR, requests.text("bench"))
        return requests.first_error(answer)

    async def worst_error() -> int:
        answer = await connection.ask(requests.DELETE_GROUPS, requests.delete_groups(names))
        errors = requests.errors_by_name(answer)
        return next((each for each in errors if each not in forgotten), requests.OK)

    forgotten = {requests.OK, requests.NO_GROUP}
    await _until(requests.FIND_COORDINATOR, {requests.OK}, coordinator_error)
    await _until(requests.DELETE_GROUPS, {requests.OK}, worst_error)


@asynccontextmanager
async def open_sender(server: Server, size: int, *, topic: Topic) -> AsyncIterator[Sender]:
    """A producer."""
    async with TopicSender(await Wire.open(server.port), topic) as sender:
        yield sender


@asynccontextmanager
async def open_receiver(
    server: Server, name: str, size: int, *, topic: Topic
) -> AsyncIterator[Receiver]:
    """The only member of the group of this name."""
    reading = await KafkaConnection.open(server)
    committing = await KafkaConnection.open(server)
    body = requests.ask_offset(name, topic.name)
    error, offset = requests.offset_of(await committing.ask(requests.OFFSET_FETCH, body))
    check(requests.OFFSET_FETCH, error)
    begin = 0 if offset == requests.NO_OFFSET else offset
    receiver = GroupReceiver(reading, committing, name, topic, size, begin)
    await receiver.ask()
    yield receiver
    reading.wire.close()
    committing.wire.close()


def variant(name: str, durability: Durability, topic: Topic, part: float) -> Variant:
    """A topic of one partition."""
    return Variant(
        name,
        durability,
        partial(open_sender, topic=topic),
        partial(open_receiver, topic=topic),
        partial(make_topic, topic=topic),
        partial(delete_topic, topic=topic),
        part=part,
        module="crc32c",
    )

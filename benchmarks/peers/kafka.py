"""Kafka over raw sockets: a topic of one partition, and a consumer group for each subscription.

A burst is one Produce request with one record batch.  A broker takes the requests of a connection
one after the other, so few are under way: a producer that is held up hands over more at once, as
Kafka's own clients do.

A reader asks for the next batches before it takes the last ones apart, and does not check their
checksums (librdkafka does not either unless told to).  It commits how far it came every five
seconds and at the end, as Kafka's own clients do; a reader that comes back begins there.

``Kafka, flushed`` has a topic with ``flush.messages=1``, whose every batch is synced before it is
acknowledged.  Kafka's default leaves that to the kernel, because it counts on replicas.
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
"""A member that died is forgotten after 45 s, unless it asked for less."""


class Topic(msgspec.Struct, frozen=True):
    """A topic, what of it is not as by default, and how it is written to."""

    name: str
    requests_under_way: int
    settings: dict[str, str] = {}


FLUSHED: Final = Topic("flushed", 2, {"flush.messages": "1"})
"""Further requests only wait for the disk: in two short runs of each, five had twice the p50 delay
of two.  The runs differed among themselves by as much, so this is a choice, not a finding."""

DEFAULT: Final = Topic("default", 5)
"""The clients' default (``max.in.flight.requests.per.connection``)."""


class KafkaConnection:
    """Asks one thing after another."""

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
        """Ask, and fetch the answer later."""
        self._last_question += 1
        await self.wire.send(requests.request(api, self._last_question, body))

    async def answer(self) -> bytes:
        """The answer to the last question."""
        size = int.from_bytes(await self.wire.exactly(4), "big")
        answer = await self.wire.exactly(size)
        number = int.from_bytes(answer[:4], "big")
        if number != self._last_question:
            raise RuntimeError(f"Kafka answered {number}, and {self._last_question} was asked")
        return answer[4:]


def check(api: requests.Api, error: int) -> None:
    """Raise unless all is well."""
    if error != requests.OK:
        raise RuntimeError(f"Kafka refused {api.name} with error {error}")


async def _until(api: requests.Api, wanted: set[int], error: Callable[[], Awaitable[int]]) -> None:
    """Ask until the broker has come so far: it answers before it has done everything."""
    until = time.monotonic() + GIVE_UP_S
    while (last := await error()) not in wanted:
        if time.monotonic() > until:
            raise RuntimeError(f"Kafka says {last} to {api.name} after {GIVE_UP_S:g} s")
        await asyncio.sleep(LOOK_EVERY_S)


# -- messages --------------------------------------------------------------------------------------


class TopicSender(ConfirmedSender):
    """A request for each burst; the answers come in the order of the requests."""

    def __init__(self, wire: Wire, topic: Topic) -> None:
        """The topic exists."""
        from crc32c import crc32c

        super().__init__(wire)
        self.window = Window(topic.requests_under_way)
        self._checksum = crc32c
        self._topic = topic.name
        self._reader = requests.answer_reader()

    def encode(self, payloads: list[bytes]) -> bytes:
        """One request with one record batch."""
        # Of now, so that the broker does not take them for messages that are past their time.
        batch = record_batch(payloads, time.time_ns() // 1_000_000, self._checksum)
        return requests.request(requests.PRODUCE, 0, requests.produce(self._topic, batch))

    async def send(self, burst: Any, count: int) -> None:
        """One request, whatever it holds."""
        await super().send(burst, 1)

    def confirmations(self, data: bytes) -> int:
        """How many requests are answered, and well."""
        answers = self._reader.feed(data)
        for _, answer in answers:
            check(requests.PRODUCE, requests.produced(answer))
        return len(answers)


class GroupReceiver:
    """Reads the partition, and commits for its group over a connection of its own."""

    def __init__(
        self,
        reading: KafkaConnection,
        committing: KafkaConnection,
        group: str,
        topic: Topic,
        size: int,
        offset: int,
    ) -> None:
        """``offset`` is the first one that the group has not had."""
        self._reading = reading
        self._committing = committing
        self._group = group
        self._topic = topic.name
        self._size = size
        self._next = offset
        self._commit_at = time.monotonic() + COMMIT_EVERY_S

    async def ask(self) -> None:
        """For what comes next."""
        await self._reading.begin(requests.FETCH, requests.fetch(self._topic, self._next))

    async def receive(self) -> list[bytes]:
        """The payloads of the batches that came together."""
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
                # The first batch may begin before the offset that was asked for.
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
    """An empty topic, and groups that have read nothing."""
    connection = await KafkaConnection.open(server)
    await _delete(connection, topic)
    await _forget_groups(connection, names)
    body = requests.create_topic(topic.name, topic.settings)
    (error,) = requests.errors_by_name(await connection.ask(requests.CREATE_TOPICS, body))
    check(requests.CREATE_TOPICS, error)
    await _until(requests.FETCH, {requests.OK}, partial(_fetch_error, connection, topic))
    connection.wire.close()


async def delete_topic(server: Server, names: Sequence[str], *, topic: Topic) -> None:
    """With everything in it; its groups are forgotten before they are used again."""
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
    """As soon as the last member is gone; the first question has the broker make what it needs."""

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

"""Nothing grows with what passes through: every client object, and the broker that serves it.

Broker and clients run in one process.  The same activity is repeated in several rounds, and after
each the objects that exist are counted by their type, and the entries of every container.  What is
kept for each operation grows in every round, however long it goes on; what is bounded, or kept for
some seconds only, does not.
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import penstock
from penstock.core.clock import SECOND
from penstock.lab.scenario.model import Broker, Link, Scenario
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.lab.worlds.sim import SimRun
from penstock.mechanisms import rate_meter
from penstock.net.broker.config import broker_config
from penstock.net.broker.server import BrokerServer
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.relay import cache as relay_cache
from penstock.services.queues.parameters import QueueConfig

OPERATIONS = 60
"""In one round."""

ROUNDS = 4
CONTAINERS = (dict, list, set, deque)
WAIT_S = 60.0

Operation: TypeAlias = Callable[[], Awaitable[object]]
Activity: TypeAlias = Callable[[penstock.Client], AsyncIterator[Operation]]


class Census:
    """What exists at one moment: objects by type, and the size of each container."""

    def __init__(self) -> None:
        gc.collect()
        objects = gc.get_objects()
        self.types = Counter(type(each) for each in objects)
        self.sizes = {id(each): len(each) for each in objects if isinstance(each, CONTAINERS)}


class Growth:
    """What has grown in every round so far, by at least one for every second operation."""

    def __init__(self) -> None:
        self._before = Census()
        self._types: set[type] | None = None
        self._containers: set[int] | None = None

    def round_done(self, operations: int = OPERATIONS) -> None:
        now, before = Census(), self._before
        enough = operations // 2
        types = {each for each, count in now.types.items() if count - before.types[each] >= enough}
        containers = {
            each
            for each, size in now.sizes.items()
            if size - before.sizes.get(each, size) >= enough
        }
        self._types = types if self._types is None else self._types & types
        self._containers = containers if self._containers is None else self._containers & containers
        self._before = now

    def describe(self) -> list[str]:
        """The names of what grows; empty if nothing does."""
        containers = self._containers or ()
        return [each.__qualname__ for each in self._types or ()] + [
            f"{type(each).__name__} of {len(each)}: {_sample(each)}"
            for each in gc.get_objects()
            if id(each) in containers
        ]


def _sample(container: Any) -> str:
    first: Iterator[Any] = iter(container)
    return repr(next(first, None))[:100]


async def single_calls(client: penstock.Client) -> AsyncIterator[Operation]:
    yield lambda: client.publish({"n": 1}, b"payload")


async def batches(client: penstock.Client) -> AsyncIterator[Operation]:
    rows = [({"n": n}, b"payload") for n in range(10)]
    async with client.publisher() as publisher:
        yield lambda: publisher.publish_batch(rows)


async def sends_without_waiting(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.publisher() as publisher:

        async def send() -> None:
            await publisher.send({"n": 1}, b"payload")
            publisher.try_publish({"n": 2}, b"payload")
            await publisher.flush()

        yield send


async def publishers_that_come_and_go(client: penstock.Client) -> AsyncIterator[Operation]:
    async def publish() -> None:
        async with client.publisher() as publisher:
            await publisher.publish({"n": 1}, b"payload")
        async with client.publisher("again and again") as publisher:
            await publisher.publish({"n": 1}, b"payload")

    yield publish


async def a_subscription(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.subscribe("kind = 'plain'") as subscription:

        async def pass_one() -> None:
            await client.publish({"kind": "plain"}, b"payload")
            await subscription.next(deadline_s=WAIT_S)

        yield pass_one


async def a_subscription_that_selects_little(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.subscribe("kind = 'rare'"):
        yield lambda: client.publish({"kind": "other"}, b"payload")


async def explicit_acknowledgements(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.subscribe("kind = 'explicit'", ack="explicit") as subscription:

        async def pass_one() -> None:
            await client.publish({"kind": "explicit"}, b"payload")
            (await subscription.next(deadline_s=WAIT_S)).ack()

        yield pass_one


async def a_durable_subscription(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.subscribe("kind = 'durable'", durable="kept") as subscription:

        async def pass_one() -> None:
            await client.publish({"kind": "durable"}, b"payload")
            await subscription.next_batch(deadline_s=WAIT_S)

        yield pass_one


async def subscriptions_that_come_and_go(client: penstock.Client) -> AsyncIterator[Operation]:
    async def subscribe() -> None:
        async with client.subscribe("kind = 'short'"):
            pass

    yield subscribe


async def durable_ones_that_come_and_go(client: penstock.Client) -> AsyncIterator[Operation]:
    async def subscribe() -> None:
        async with client.subscribe("kind = 'short'", durable="short") as subscription:
            await subscription.close(forget=True)

    yield subscribe


async def a_queue(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.queues.receive("work") as receiver:

        async def pass_one() -> None:
            await client.queues.send("work", {"n": 1}, b"payload")
            async for message in receiver.messages(deadline_s=WAIT_S):
                message.ack()
                break
            await receiver.flush()

        yield pass_one


async def receivers_that_come_and_go(client: penstock.Client) -> AsyncIterator[Operation]:
    async def receive() -> None:
        async with client.queues.receive("work"):
            pass

    yield receive


async def a_group(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.group("team") as group:

        async def pass_one() -> None:
            await group.send({"n": 1}, b"payload")
            assert await group.next_batch(deadline_s=WAIT_S) is not None

        yield pass_one


async def groups_that_come_and_go(client: penstock.Client) -> AsyncIterator[Operation]:
    async def join() -> None:
        async with client.group("short") as group:
            await group.send({"n": 1}, b"payload")

    yield join


async def datagrams(client: penstock.Client) -> AsyncIterator[Operation]:
    async with client.datagram("sender") as sender, sender.subscribe("n = 1") as readings:

        async def pass_one() -> None:
            await sender.publish({"n": 1}, b"payload")
            await readings.next(deadline_s=WAIT_S)

        yield pass_one


async def a_sink(client: penstock.Client) -> AsyncIterator[Operation]:
    sink = client.sink("totals")
    epoch = -1

    async def commit() -> None:
        nonlocal epoch
        epoch += 1
        stage = sink.stage(epoch, "part")
        await stage.write([({"n": 1}, b"payload")])
        await sink.commit(epoch, {"part": 1})

    yield commit


async def questions(client: penstock.Client) -> AsyncIterator[Operation]:
    async def ask() -> None:
        await client.status()
        await client.why("b.1")
        await client.queues.status()
        await client.move_cursor("job", {"b.1": 1})

    yield ask


async def connections(client: penstock.Client) -> AsyncIterator[Operation]:
    url = f"penstock://{(await client.status())['listening']}"

    async def connect() -> None:
        async with penstock.connect(url, deadline_s=WAIT_S) as other:
            await other.publish({"n": 1}, b"payload")

    yield connect


ACTIVITIES: list[Activity] = [
    single_calls,
    batches,
    sends_without_waiting,
    publishers_that_come_and_go,
    a_subscription,
    a_subscription_that_selects_little,
    explicit_acknowledgements,
    a_durable_subscription,
    subscriptions_that_come_and_go,
    durable_ones_that_come_and_go,
    a_queue,
    receivers_that_come_and_go,
    a_group,
    groups_that_come_and_go,
    datagrams,
    a_sink,
    questions,
    connections,
]


@pytest.fixture
async def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[penstock.Client]:
    """A client and its broker, whose bounds are reached soon, in this process."""
    monkeypatch.setattr(relay_cache, "COMPACT_AT", 16)
    config = broker_config(
        "b",
        str(tmp_path / "b"),
        listen="127.0.0.1:0",
        pubends=1,
        queues={"work": QueueConfig("work")},
        guaranteed=GuaranteedParameters(
            retain_for_ns=SECOND // 10,
            retain_bytes=1000,
            hold_expiry_ns=SECOND // 10,
            acknowledge_interval_ns=SECOND // 10,
            producer_limit=4,
            relay_cache_bytes=1000,
        ),
    )
    server = BrokerServer(config)
    await server.start()
    async with penstock.connect(f"penstock://{server.address}", deadline_s=WAIT_S) as connected:
        yield connected
    await server.stop()


@pytest.mark.parametrize("activity", ACTIVITIES, ids=lambda each: each.__name__)
async def test_what_passes_through_leaves_nothing_behind(
    client: penstock.Client, activity: Activity
) -> None:
    async for operation in activity(client):
        for _ in range(OPERATIONS):
            await operation()
        growth = Growth()
        rounds = 0
        give_up_at = time.monotonic() + WAIT_S
        while rounds < ROUNDS or (growth.describe() and time.monotonic() < give_up_at):
            rounds += 1
            for _ in range(OPERATIONS):
                await operation()
            growth.round_done()
        assert growth.describe() == []


SUBSCRIBER = {"service": "guaranteed", "role": "subscriber"}
PUBLISHER = {"service": "guaranteed", "role": "publisher", "name": "p"}


@pytest.mark.parametrize("rate_msgs_per_s", [0, 20], ids=["idle", "busy"])
def test_brokers_do_not_grow_with_time(
    rate_msgs_per_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three brokers in virtual time, with readers that are there, away, and slow."""
    monkeypatch.setattr(relay_cache, "COMPACT_AT", 16)
    monkeypatch.setattr(rate_meter, "REMEMBERED", SECOND)
    publisher = Publisher(**PUBLISHER, broker="a", rate_msgs_per_s=rate_msgs_per_s or 1)
    readers = (
        Subscriber(**SUBSCRIBER, name="live", broker="c"),
        Subscriber(**SUBSCRIBER, name="kept", broker="c", durable=True),
        Subscriber(**SUBSCRIBER, name="slow", broker="b", read_msgs_per_s=5, window_bytes=2000),
    )
    parameters = {
        "retain_for_ns": SECOND,
        "retain_bytes": 1000,
        "hold_expiry_ns": SECOND,
        "relay_cache_bytes": 1000,
        "session_buffer_bytes": 2000,
    }
    scenario = Scenario(
        name="soak",
        duration_s=1000,
        parameters={"guaranteed": parameters},
        brokers=(Broker(name="a", keys={"pubends": 1}), Broker(name="b"), Broker(name="c")),
        links=(Link(between=("a", "b")), Link(between=("b", "c"))),
        clients=(*readers, publisher),
    )
    run = SimRun(scenario, 1)
    run.open()
    for reader in readers:
        run.start_client(reader, scenario.duration_s)
    run.start_client(publisher, scenario.duration_s if rate_msgs_per_s else 1)
    run.run_until(20)
    growth = Growth()
    seconds = 60
    for number in range(1, ROUNDS + 1):
        run.run_until(20 + number * seconds)
        growth.round_done(seconds)
    # The run itself writes down what it measures.
    assert [each for each in growth.describe() if "TraceRecord" not in each] == []


class Keeps:
    """Something that keeps an object for every operation."""

    def __init__(self) -> None:
        self.kept: list[object] = []


def test_what_is_kept_for_every_operation_is_found() -> None:
    leak = Keeps()
    growth = Growth()
    for _ in range(ROUNDS):
        leak.kept += [Keeps() for _ in range(OPERATIONS)]
        growth.round_done()

    assert any("Keeps" in each for each in growth.describe())

"""What a broker process promises to subscriptions and publishers, where only time goes by.

Logs keep nothing for replay here: only claims keep what somebody has yet to read.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

import penstock
from penstock.core.clock import SECOND
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.guaranteed.parameters import GuaranteedParameters

FORGETFUL = GuaranteedParameters(
    retain_for_ns=SECOND // 10,
    retain_bytes=1000,
    hold_expiry_ns=SECOND // 10,
    acknowledge_interval_ns=SECOND // 10,
)
WAIT_S = 60.0
"""Longer than anything here takes on a busy machine."""

StartBroker = Callable[..., BrokerProcess]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[StartBroker]:
    """Starts brokers that are gone when the test is done."""
    with ExitStack() as stack:

        def start_broker(
            name: str,
            *,
            pubends: int = 1,
            port: int = 0,
            neighbours: dict[str, int] | None = None,
            parameters: GuaranteedParameters = FORGETFUL,
            run: bool = True,
        ) -> BrokerProcess:
            path = tmp_path / f"{name}.toml"
            write_config(
                path,
                broker_config(
                    name,
                    str(tmp_path / name),
                    listen=f"127.0.0.1:{port or free_port()}",
                    pubends=pubends,
                    neighbours={
                        other: NeighbourConfig(f"127.0.0.1:{where}")
                        for other, where in (neighbours or {}).items()
                    },
                    guaranteed=parameters,
                ),
            )
            process = BrokerProcess(path, path.with_suffix(".log"))
            stack.callback(process.kill)
            if run:
                process.start()
            return process

        yield start_broker


def url_of(broker: BrokerProcess) -> str:
    host, port = broker.address
    return f"penstock://{host}:{port}"


@asynccontextmanager
async def subscribed(url: str, selector: str = "") -> AsyncIterator[penstock.Subscription]:
    """The durable subscription "mine", of a program of its own."""
    async with (
        penstock.connect(url, deadline_s=WAIT_S) as client,
        client.subscribe(selector, durable="mine") as subscription,
    ):
        yield subscription


async def received(subscription: penstock.Subscription, count: int) -> list[int]:
    """The numbers of so many messages."""
    return [
        int(str((await subscription.next(deadline_s=WAIT_S)).attributes["n"])) for _ in range(count)
    ]


async def publish(url: str, numbers: range, pubend: str = "") -> None:
    async with (
        penstock.connect(url, deadline_s=WAIT_S) as client,
        client.publisher(pubend=pubend) as publisher,
    ):
        for number in numbers:
            await publisher.publish({"n": number}, bytes(1000))


async def log_was_trimmed(url: str, pubend: str) -> None:
    """Publish until the broker has let old messages go, or has had every chance to."""
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        give_up_at = time.monotonic() + 3.0
        while time.monotonic() < give_up_at:
            await client.publish({"n": -1}, b"")
            if (await client.status())["services"]["guaranteed"]["pubends"][pubend][
                "log_bytes"
            ] < 2000:
                return
            await asyncio.sleep(0.05)


async def test_a_durable_subscription_that_is_closed_at_once_holds_the_log(
    start: StartBroker,
) -> None:
    url = url_of(start("pb"))
    async with subscribed(url, "n >= 0"):
        pass
    await publish(url, range(50))
    await log_was_trimmed(url, "pb.1")

    async with subscribed(url, "n >= 0") as subscription:
        assert await received(subscription, 50) == list(range(50))


async def test_deleting_the_last_durable_subscription_frees_the_log_at_once(
    start: StartBroker,
) -> None:
    limit = 200_000
    parameters = GuaranteedParameters(
        retain_for_ns=SECOND // 10, retain_bytes=1000, log_limit_bytes=limit
    )
    url = url_of(start("pb", parameters=parameters))
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        async with client.subscribe(durable="gone"):
            pass
        refusal = None
        while refusal is None:
            try:
                await client.publish({}, bytes(10_000))
            except penstock.PublishRefusedError as error:
                refusal = error
        assert "durable subscription 'gone' at broker 'pb'" in refusal.reason
        status = await client.status()
        assert [
            each["name"] for each in status["services"]["guaranteed"]["durable_subscriptions"]
        ] == ["gone"]
        assert "'gone'" in (await client.why("pb.1"))["log_held_by"]
        assert (await client.why("gone"))["absent_for_s"] > 0

        await client.delete_subscription("gone")
        give_up_at = time.monotonic() + WAIT_S
        while True:
            try:
                await client.publish({}, bytes(10_000))
                break
            except penstock.PublishRefusedError:
                assert time.monotonic() < give_up_at
                await asyncio.sleep(0.05)


async def test_a_pubend_that_appears_while_a_durable_subscription_is_away_is_read_too(
    start: StartBroker,
) -> None:
    broker = start("pb")
    async with subscribed(url_of(broker)):
        pass
    port = broker.address[1]
    broker.terminate()
    url = url_of(start("pb", pubends=2, port=port))
    await publish(url, range(10), "pb.1")
    await publish(url, range(10, 20), "pb.2")
    await log_was_trimmed(url, "pb.1")

    async with subscribed(url) as subscription:
        seen = await received(subscription, 20)
        while not set(range(20)) <= set(seen):
            seen += await received(subscription, 1)


async def test_a_subscription_in_force_before_any_source_misses_nothing_while_its_broker_is_away(
    start: StartBroker,
) -> None:
    ports = {"pb": free_port(), "sb": free_port()}
    lasting = GuaranteedParameters()
    source = start(
        "pb", port=ports["pb"], neighbours={"sb": ports["sb"]}, parameters=lasting, run=False
    )
    edge = start(
        "sb", pubends=0, port=ports["sb"], neighbours={"pb": ports["pb"]}, parameters=lasting
    )
    async with penstock.connect(url_of(edge), deadline_s=WAIT_S) as client:
        async with client.subscribe() as subscription:
            assert subscription.positions == {}
            source.start()
            await publish(url_of(source), range(5))
            assert await received(subscription, 5) == list(range(5))
        async with client.subscribe() as late, client.subscribe() as early:
            edge.kill()
            await publish(url_of(source), range(5, 25))
            edge.start()
            assert await received(late, 20) == list(range(5, 25))
            assert await received(early, 20) == list(range(5, 25))


@pytest.fixture
async def orders(start: StartBroker) -> AsyncIterator[tuple[penstock.Client, penstock.Client]]:
    """Two programs that publish under one name."""
    url = url_of(start("pb", parameters=GuaranteedParameters()))
    async with (
        penstock.connect(url, deadline_s=WAIT_S) as earlier,
        penstock.connect(url, deadline_s=WAIT_S) as later,
    ):
        yield earlier, later


async def test_of_two_publishers_of_one_name_nothing_is_acknowledged_that_is_not_stored(
    orders: tuple[penstock.Client, penstock.Client],
) -> None:
    earlier, later = orders
    first, second = earlier.publisher("orders"), later.publisher("orders")
    stored: list[int] = []
    refused: list[penstock.PublisherTakenOver] = []
    for number in range(20):
        try:
            receipt = await (first, second)[number % 2].publish({"n": number}, b"")
        except penstock.PublisherTakenOver as error:
            refused.append(error)
        else:
            assert receipt.tick is not None
            stored.append(number)
    assert all("another publisher named 'orders'" in error.reason for error in refused)
    assert stored == [0, *range(1, 20, 2)]

    async with later.subscribe(start="earliest") as subscription:
        assert await received(subscription, len(stored)) == stored


async def test_a_durable_subscription_from_the_earliest_message_gets_all_of_every_pubend(
    start: StartBroker,
) -> None:
    """Its window is small: deliveries wait while the broker says where the subscription began."""
    url = url_of(start("pb", pubends=4, parameters=GuaranteedParameters()))
    for pubend in range(4):
        await publish(url, range(pubend * 20, pubend * 20 + 20), f"pb.{pubend + 1}")
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        for number in range(5):
            subscription = client.subscribe(
                durable=f"d{number}", start="earliest", window_bytes=2000
            )
            async with subscription:
                assert sorted(await received(subscription, 80)) == list(range(80))


async def test_a_program_that_makes_many_publishers_one_after_another_is_never_refused(
    start: StartBroker,
) -> None:
    url = url_of(start("pb", parameters=GuaranteedParameters(producers_per_session=2)))
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        for number in range(10):
            async with client.publisher() as publisher:
                await publisher.publish({"n": number}, b"")
        async with client.subscribe(start="earliest") as subscription:
            assert await received(subscription, 10) == list(range(10))

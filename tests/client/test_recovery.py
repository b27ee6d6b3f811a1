"""Brokers that are killed, and clients that go on: nothing lost, nothing twice, all in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Literal

import pytest

import penstock
from penstock.client.client import ClientOptions
from penstock.client.session import SessionOptions
from penstock.net.process import BrokerProcess, free_port

StartBroker = Callable[..., BrokerProcess]
DEADLINE_S = 60.0
KILLS = 2
MESSAGES_BETWEEN_KILLS = 2000


def url_of(*brokers: BrokerProcess) -> str:
    return "penstock://" + ",".join(f"{host}:{port}" for host, port in (b.address for b in brokers))


async def restart(broker: BrokerProcess) -> None:
    """Kill the broker as a crash would, and start it again, while the clients go on."""
    broker.kill()
    await asyncio.to_thread(broker.start)


async def publish_until(
    publisher: penstock.Publisher, topic: str, stop: asyncio.Event, progress: asyncio.Condition
) -> list[int]:
    """Publish numbers until told to stop; returns those that have a receipt."""
    confirmed: list[int] = []
    number = 0
    while not stop.is_set():
        count = 100
        publications = [
            (n, await publisher.send({"topic": topic, "n": n}, b"x" * 50, deadline_s=DEADLINE_S))
            for n in range(number, number + count)
        ]
        number += count
        for n, publication in publications:
            await publication.receipt(deadline_s=DEADLINE_S)
            confirmed.append(n)
        async with progress:
            progress.notify_all()
    return confirmed


@pytest.mark.parametrize("ack", ["auto", "explicit"])
async def test_a_killed_broker_loses_repeats_and_swaps_nothing(
    start_broker: StartBroker, ack: Literal["auto", "explicit"]
) -> None:
    broker = start_broker(f"killed-{ack}")
    async with (
        penstock.connect(url_of(broker), deadline_s=DEADLINE_S) as producer,
        penstock.connect(url_of(broker), deadline_s=DEADLINE_S) as consumer,
        consumer.subscribe("topic = 'kill'", durable="reader", ack=ack) as subscription,
        producer.publisher() as publisher,
    ):
        stop, progress = asyncio.Event(), asyncio.Condition()
        publishing = asyncio.create_task(publish_until(publisher, "kill", stop, progress))
        seen: list[object] = []
        expected: int | None = None
        async for message in subscription.messages(deadline_s=DEADLINE_S):
            seen.append(message["n"])
            message.ack()
            if len(seen) % MESSAGES_BETWEEN_KILLS == 0:
                if len(seen) // MESSAGES_BETWEEN_KILLS <= KILLS:
                    await restart(broker)
                else:
                    stop.set()
                    expected = len(await publishing)
            if expected is not None and len(seen) >= expected:
                break
        assert seen == list(range(len(seen)))
        with pytest.raises(penstock.DeadlineExceeded):
            await subscription.next(deadline_s=0.1)


async def test_a_subscription_that_is_not_durable_resumes_too(start_broker: StartBroker) -> None:
    broker = start_broker("resumed")
    async with (
        penstock.connect(url_of(broker), deadline_s=DEADLINE_S) as client,
        client.subscribe("topic = 'resume'") as subscription,
    ):
        seen = []
        for round_number in range(2):
            await client.publish_batch([({"topic": "resume", "n": n}, b"") for n in range(50)])
            seen.append((await subscription.next(deadline_s=DEADLINE_S))["n"])
            await restart(broker)
            await client.publish({"topic": "resume", "n": 50 + round_number})
        while len(seen) < 102:
            seen.append((await subscription.next(deadline_s=DEADLINE_S))["n"])
        assert seen == [*range(51), *range(50), 51]


async def test_a_broker_that_stops_in_good_order_is_waited_for(start_broker: StartBroker) -> None:
    broker = start_broker("restarted")
    async with penstock.connect(url_of(broker), deadline_s=DEADLINE_S) as client:
        await client.publish({"n": 1})
        await asyncio.to_thread(broker.terminate)
        publishing = asyncio.create_task(client.publish({"n": 2}))
        await asyncio.sleep(0)
        with pytest.raises(penstock.DeadlineExceeded, match="not connected to") as raised:
            await client.publish({"n": 3}, deadline_s=0.01)
        assert raised.value.accepted
        await asyncio.to_thread(broker.start)
        assert (await publishing).sequence == 1
        assert (await client.publish({"n": 4})).sequence == 3


async def test_another_broker_takes_over(start_broker: StartBroker) -> None:
    first, second = start_broker("first"), start_broker("second")
    async with penstock.connect(url_of(first, second), deadline_s=DEADLINE_S) as client:
        assert (await client.publish({"n": 1})).pubend == "first.1"
        first.kill()
        # What is published before the loss is noticed may have reached the first broker, and the
        # second cannot tell; so ask until somebody answers, and publish then.
        while (status := await status_or_none(client)) is None:
            pass
        assert status["name"] == "second"
        assert (await client.publish({"n": 2})).pubend == "second.1"


async def status_or_none(client: penstock.Client) -> dict[str, object] | None:
    """The broker's account, unless the connection is lost before it comes."""
    try:
        return await client.status()
    except penstock.Disconnected:
        return None


async def test_giving_up_is_told_to_everybody(start_broker: StartBroker) -> None:
    broker = start_broker("gone")
    options = ClientOptions(session=SessionOptions(reconnect_for_s=0.2))
    client = await penstock.connect(url_of(broker), options=options)
    subscription = client.subscribe()
    await subscription.open()
    publisher = client.publisher()
    await publisher.open()
    reading = asyncio.create_task(subscription.next())
    broker.kill()
    publication = publisher.try_publish({"n": 1})
    assert publication is not None
    publishing = asyncio.create_task(publication.receipt(deadline_s=DEADLINE_S))
    with pytest.raises(penstock.ConnectionFailed, match="no broker could be reached"):
        await reading
    with pytest.raises((penstock.PublishUncertain, penstock.Disconnected)):
        await publishing
    with pytest.raises(penstock.ConnectionFailed):
        await publisher.publish({})
    with pytest.raises(penstock.ConnectionFailed):
        await client.status()
    await client.close()


async def test_no_broker_at_all_names_every_address_and_its_problem() -> None:
    ports = [free_port(), free_port()]
    url = f"penstock://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}"
    with pytest.raises(penstock.ConnectionFailed) as raised:
        await penstock.connect(url, deadline_s=0.1)
    assert all(f"127.0.0.1:{port}: " in str(raised.value) for port in ports)

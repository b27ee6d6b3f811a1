"""Workers are started and stopped by the load of a queue, in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

import penstock.testing
from penstock.client.client import Client
from penstock.client.queues.queues import Queues
from penstock.client.queues.workers import Workers
from penstock.services.queues.laws.workers import WorkerBounds


class Sleeper:
    """Takes a tenth of a second for each message."""

    started = 0

    def __init__(self, client: Client, queue: str = "jobs") -> None:
        Sleeper.started += 1
        self.task = asyncio.get_running_loop().create_task(self._work(client, queue))

    async def _work(self, client: Client, queue: str) -> None:
        async with client.queues.receive(queue, prefetch=5) as receiver:
            async for message in receiver:
                await asyncio.sleep(0.1)
                message.ack()

    def is_running(self) -> bool:
        return not self.task.done()

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def test_workers_come_with_a_backlog_and_go_after_it() -> None:
    said: list[str] = []
    async with penstock.testing.broker(queues=["jobs"]) as broker, broker.connect() as client:

        async def start() -> Sleeper:
            return Sleeper(client)

        workers = Workers(client.queues, "jobs", start, WorkerBounds(0, 4), say=said.append)
        following = asyncio.get_running_loop().create_task(workers.run())
        await asyncio.sleep(5)
        assert len(workers) == 0
        sender = client.queues.sender("jobs")
        for _ in range(600):
            await sender.send({}, b"")
        await asyncio.sleep(15)
        assert len(workers) == 4
        assert broker.queue("jobs").consumers == 4
        await asyncio.sleep(120)
        assert broker.queue("jobs").waiting == 0
        assert len(workers) == 0
        following.cancel()
        await asyncio.wait([following])
    assert said[0] == "jobs: workers: 0 before, 1 now"
    assert said[-1] == "jobs: workers: 1 before, 0 now"


async def test_a_worker_that_ends_is_replaced_and_all_are_stopped_at_the_end() -> None:
    made: list[Sleeper] = []
    async with penstock.testing.broker(queues=["jobs"]) as broker, broker.connect() as client:

        async def start() -> Sleeper:
            made.append(Sleeper(client))
            return made[-1]

        workers = Workers(client.queues, "jobs", start, WorkerBounds(2, 2))
        following = asyncio.get_running_loop().create_task(workers.run())
        await asyncio.sleep(3)
        await made[0].stop()
        await asyncio.sleep(3)
        assert (len(made), len(workers)) == (3, 2)
        following.cancel()
        await asyncio.wait([following])
        assert not any(each.is_running() for each in made)


async def test_workers_stay_while_the_broker_is_away() -> None:
    said: list[str] = []
    async with penstock.testing.broker(queues=["jobs"]) as broker, broker.connect() as client:

        async def start() -> Sleeper:
            return Sleeper(client)

        workers = Workers(client.queues, "jobs", start, WorkerBounds(1, 2), say=said.append)
        following = asyncio.get_running_loop().create_task(workers.run())
        await asyncio.sleep(3)
        await broker.restart(after_s=60)
        await asyncio.sleep(3)
        assert len(workers) == 1
        following.cancel()
        await asyncio.wait([following])


async def followed(workers: Workers, for_s: float) -> list[int]:
    """The number of workers at the end of each second; all are stopped at the end."""
    following = asyncio.get_running_loop().create_task(workers.run())
    counts = []
    for _ in range(round(for_s)):
        await asyncio.sleep(1)
        counts.append(len(workers))
    following.cancel()
    (raised,) = await asyncio.gather(following, return_exceptions=True)
    assert isinstance(raised, asyncio.CancelledError), raised
    return counts


def orders(**more: object) -> dict[str, object]:
    """An alias queue before two queues of the same broker."""
    destinations = ["jobs@broker", "more@broker"]
    return {"aliases": {"orders": {"destinations": destinations, **more}}}


@pytest.mark.parametrize("balancing", ["flow-control", "round-robin"])
async def test_workers_follow_what_waits_behind_an_alias_queue(balancing: str) -> None:
    """What nobody takes waits in the alias queue; its end leaves the loads of the control loop, if
    there is one, as they were at the last report."""
    async with (
        penstock.testing.broker(
            queues=["jobs", "more"], settings=orders(balancing=balancing)
        ) as broker,
        broker.connect() as client,
    ):

        async def start() -> Sleeper:
            return Sleeper(client)

        for _ in range(600):
            await client.queues.send("orders", {}, b"")
        (before,) = await client.queues.status("orders")
        assert before["messages"] == 600
        workers = Workers(client.queues, "jobs@broker", start, WorkerBounds(0, 4), alias="orders")
        counts = await followed(workers, 150)
        (after,) = await client.queues.status("orders")
        assert max(counts) == 4
        assert counts[-1] == 0
        assert after["messages"] == broker.queue("jobs").waiting == 0


async def test_workers_come_for_the_backlog_of_another_destination() -> None:
    """It has no consumers, but future messages can go to these workers."""
    async with (
        penstock.testing.broker(queues=["jobs", "more"], settings=orders()) as broker,
        broker.connect() as client,
    ):

        async def start() -> Sleeper:
            return Sleeper(client)

        await client.queues.send("more", {}, b"")
        alone = Workers(client.queues, "jobs", start, WorkerBounds(0, 4))
        assert set(await followed(alone, 5)) == {0}
        together = Workers(client.queues, "jobs", start, WorkerBounds(0, 4), alias="orders")
        assert (await followed(together, 5))[-1] == 1


@pytest.mark.parametrize(("others", "wanted"), [(0, 3), (1, 2), (2, 1)])
async def test_the_consumers_of_another_destination_do_their_part(others: int, wanted: int) -> None:
    """18 messages a second need 2.25 workers that are busy for 0.8 of their time."""
    async with (
        penstock.testing.broker(queues=["jobs", "more"], settings=orders()) as broker,
        broker.connect() as client,
    ):

        async def start() -> Sleeper:
            return Sleeper(client)

        async def produce() -> None:
            sender = client.queues.sender("orders")
            while True:
                await asyncio.sleep(1 / 18)
                await sender.send({}, b"")

        working = [Sleeper(client, "more") for _ in range(others)]
        producing = asyncio.get_running_loop().create_task(produce())
        workers = Workers(client.queues, "jobs", start, WorkerBounds(0, 8), alias="orders")
        counts = await followed(workers, 150)
        producing.cancel()
        await asyncio.wait([producing])
        await asyncio.gather(*[each.stop() for each in working])
        assert set(counts[100:]) == {wanted}


class Unheard:
    """The queues of a broker whose alias queue hears nothing of ``jobs`` after three questions."""

    def __init__(self) -> None:
        self.asked = 0

    async def status(self, queue: str) -> list[dict[str, Any]]:
        self.asked += 1
        told = {"s_ago": 1.0, "messages": 500, "consumers": 1, "consumer_msgs_per_s": 10.0}
        jobs = {"address": "jobs@east", "retired": False, "gets_nothing_because": ""}
        jobs["told"] = told if self.asked <= 3 else None
        listed = {"name": queue, "kind": "alias", "messages": 0, "received_messages": 500}
        return [{**listed, "destinations": [jobs]}]


async def test_workers_stay_while_the_alias_queue_hears_nothing_of_their_queue() -> None:
    said: list[str] = []
    async with penstock.testing.broker(queues=["jobs"]) as broker, broker.connect() as client:

        async def start() -> Sleeper:
            return Sleeper(client)

        queues = cast(Queues, Unheard())
        bounds = WorkerBounds(0, 4, start_s=1)
        workers = Workers(queues, "jobs", start, bounds, alias="orders", say=said.append)
        counts = await followed(workers, 100)
    assert counts[2:] == [4] * 98
    assert [line for line in said if "no news" in line] == [
        "jobs: 'orders' has no news of it; the number of workers stays 4"
    ]


async def test_a_queue_that_is_no_destination_is_refused() -> None:
    async with (
        penstock.testing.broker(queues=["jobs", "more", "other"], settings=orders()) as broker,
        broker.connect() as client,
    ):

        async def start() -> Sleeper:
            raise AssertionError("no worker is started")

        workers = Workers(client.queues, "other", start, WorkerBounds(0, 4), alias="orders")
        with pytest.raises(ValueError, match="'other' is not a destination of 'orders'"):
            await workers.run()
        with pytest.raises(ValueError, match="'orders' is an alias queue"):
            await Workers(client.queues, "orders", start, WorkerBounds(0, 4)).run()
        with pytest.raises(ValueError, match="'jobs' is a queue, not an alias queue"):
            await Workers(client.queues, "other", start, WorkerBounds(0, 4), alias="jobs").run()

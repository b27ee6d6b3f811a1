"""Workers are started and stopped by the load of a queue, in virtual time."""

from __future__ import annotations

import asyncio

import pytest

import penstock.testing
from penstock.client.client import Client
from penstock.client.queues.workers import Workers, load_of
from penstock.services.queues.laws.workers import WorkerBounds


class Sleeper:
    """Takes a tenth of a second for each message."""

    started = 0

    def __init__(self, client: Client) -> None:
        Sleeper.started += 1
        self.task = asyncio.get_running_loop().create_task(self._work(client))

    async def _work(self, client: Client) -> None:
        async with client.queues.receive("jobs", prefetch=5) as receiver:
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
    assert said[-1].startswith("jobs: 0 workers")


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


def test_an_alias_queue_has_no_workers() -> None:
    with pytest.raises(ValueError, match="'orders' is an alias queue"):
        load_of({"name": "orders", "kind": "alias"})

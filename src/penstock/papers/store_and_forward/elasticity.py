"""Consumers that are added and retired with the load (the scalability of Section II).

A queue gets a step of load and is watched in virtual time: the broker, the client library and
``Workers`` are those of the product (``penstock.testing``), a worker is a task that takes its time
for each message.  Arrivals are at random.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import penstock.testing
from penstock.client.client import Client
from penstock.client.queues.workers import Workers
from penstock.core.randomness import random_stream
from penstock.services.queues.laws.workers import WorkerBounds

LOAD: Final = ((60, 50.0), (90, 250.0), (120, 50.0))
"""Seconds, and messages a second: a step to five times the load, and back."""

WORKER_MSGS_PER_S: Final = 75.0
"""One worker is enough for the low load; four at full work are enough for the high one."""

MOST: Final = 8
STEP_S: Final = LOAD[0][0]
QUEUE: Final = "work"


class TaskWorker:
    """A worker as a task of this process."""

    def __init__(self, client: Client) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(client))

    async def _work(self, client: Client) -> None:
        async with client.queues.receive(QUEUE, prefetch=20) as receiver:
            async for message in receiver:
                await asyncio.sleep(1 / WORKER_MSGS_PER_S)
                message.ack()

    def is_running(self) -> bool:
        return not self._task.done()

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task


def elastic(seed: int) -> Mapping[str, float]:
    """The number of workers follows the load."""
    return penstock.testing.run(_watched(seed, WorkerBounds(1, MOST)))


def few(seed: int) -> Mapping[str, float]:
    """One worker throughout."""
    return penstock.testing.run(_watched(seed, WorkerBounds(1, 1)))


def many(seed: int) -> Mapping[str, float]:
    """As many workers as are allowed, throughout."""
    return penstock.testing.run(_watched(seed, WorkerBounds(MOST, MOST)))


async def _watched(seed: int, bounds: WorkerBounds) -> Mapping[str, float]:
    waiting: list[int] = []
    running: list[int] = []
    async with penstock.testing.broker(queues=[QUEUE]) as broker, broker.connect() as client:

        async def start() -> TaskWorker:
            return TaskWorker(client)

        workers = Workers(client.queues, QUEUE, start, bounds)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(workers.run()), loop.create_task(_produce(client, seed))]
        for _ in range(sum(duration_s for duration_s, _ in LOAD)):
            await asyncio.sleep(1)
            state = broker.queue(QUEUE)
            waiting.append(state.waiting + state.in_flight)
            running.append(len(workers))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return {
        "highest backlog": max(waiting),
        "most workers": max(running),
        "workers at the end": running[-1],
        "worker seconds": sum(running),
        "worked off after": _worked_off_s(waiting),
    }


async def _produce(client: Client, seed: int) -> None:
    random = random_stream(seed, "elasticity")
    sender = client.queues.sender(QUEUE)
    loop = asyncio.get_running_loop()
    at = loop.time()
    for duration_s, rate in LOAD:
        end = at + duration_s
        while at < end:
            at += random.expovariate(rate)
            await asyncio.sleep(max(0.0, at - loop.time()))
            await sender.send({}, b"work")


def _worked_off_s(waiting: list[int]) -> float:
    """Seconds from the step until no more than a second of work of the low load is left."""
    high = [place for place, count in enumerate(waiting) if count > LOAD[0][1]]
    in_step = [place for place in high if STEP_S <= place < STEP_S + LOAD[1][0]]
    return float(in_step[-1] + 1 - STEP_S) if in_step else 0.0

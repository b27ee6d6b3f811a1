"""Running a whole test in virtual time, and doing it twice."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys

import pytest
import uvloop

import penstock.testing
from penstock.net.loop_world import world_here
from penstock.testing import TimeLimitReached


def test_the_result_is_returned_and_time_is_virtual() -> None:
    async def main() -> float:
        await asyncio.sleep(1800)
        async with penstock.testing.broker() as broker:
            await broker.advance(1800)
        return asyncio.get_running_loop().time()

    assert penstock.testing.run(main()) >= 3600


def test_errors_pass_through() -> None:
    async def main() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        penstock.testing.run(main())


def test_the_loop_is_asyncio_s_own_whatever_the_policy() -> None:
    async def main() -> bool:
        return world_here() is not None

    policy = asyncio.get_event_loop_policy()
    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
    try:
        assert penstock.testing.run(main())
    finally:
        asyncio.set_event_loop_policy(policy)


def test_waiting_for_ever_is_an_error() -> None:
    async def main() -> None:
        async with penstock.testing.broker() as broker, broker.connect() as client:
            async for _ in client.subscribe():
                pass

    with pytest.raises(TimeLimitReached, match=r"test_running.py.*async for _ in client.subscribe"):
        penstock.testing.run(main(), limit_s=60)


PROGRAM = """
import asyncio, penstock, penstock.testing

async def main():
    async with penstock.testing.broker(queues=["orders"], seed=3) as broker:
        async with (
            penstock.connect(broker.url) as client,
            client.subscribe(durable="all") as subscription,
        ):
            async def publish(number):
                return await client.publish({"number": number}, b"x" * number)
            for number in range(20):
                await publish(number)
                await asyncio.sleep(1 / 3)
            late = asyncio.gather(*(publish(number) for number in range(20, 40)))
            await broker.advance(0.0004)
            await broker.restart(after_s=2.5)
            await late
            for _ in range(40):
                message = await subscription.next()
                print(message["number"], message.tick, broker.now)
            await client.queues.send("orders", {"number": 1})
            print(broker.queue("orders"), broker.now)
    async with penstock.testing.overlay({"a": ["b"], "b": ["c"]}) as brokers:
        async with brokers["c"].connect() as reader, reader.subscribe() as subscription:
            async with brokers["a"].connect() as client:
                brokers.cut("a", "b")
                await client.publish({"number": 1})
                brokers.mend("a", "b")
                message = await subscription.next()
                print(message.tick, brokers["a"].now)

penstock.testing.run(main())
"""


def test_the_same_test_twice_has_the_same_ticks() -> None:
    outputs = [
        subprocess.run(
            [sys.executable, "-W", "error", "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == 42

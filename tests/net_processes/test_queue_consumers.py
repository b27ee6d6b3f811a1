"""Consumers as programs of their own: those that leave in good order, and those that are killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock.net.broker.config import broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.queues.parameters import QueueConfig

MESSAGES = 20
WAIT_S = 60.0

TAKES_ONE = """
import asyncio, sys, penstock
async def main():
    client = await penstock.connect(sys.argv[1])
    async for message in client.queues.receive("work"):
        message.ack()
        print(message.attributes["n"], flush=True)
        break
    await client.close()
asyncio.run(main())
"""

DIES_OF_POISON = """
import asyncio, os, sys, penstock
async def main():
    async with penstock.connect(sys.argv[1]) as client:
        async with client.queues.receive("work") as receiver:
            while (await client.queues.status("work"))[0]["messages"]:
                try:
                    async for message in receiver.messages(deadline_s=0.2):
                        if message.attributes["n"] == 7:
                            os._exit(3)
                        message.ack()
                except penstock.DeadlineExceeded:
                    pass
asyncio.run(main())
"""
"""It ends by itself when the queue is empty."""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "b.toml"
    port = free_port()
    queues = {
        "work": QueueConfig("work", max_deliveries=3, dead_letter_queue="dead"),
        "dead": QueueConfig("dead"),
    }
    write_config(
        path, broker_config("b", str(tmp_path / "b"), listen=f"127.0.0.1:{port}", queues=queues)
    )
    broker = BrokerProcess(path, path.with_suffix(".log"))
    broker.start()
    yield f"penstock://127.0.0.1:{port}"
    broker.kill()


def run(program: str, url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program, url], capture_output=True, text=True, timeout=WAIT_S
    )


async def fill(url: str) -> None:
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        for number in range(MESSAGES):
            await client.queues.send("work", {"n": number}, b"")


async def count(url: str, queue: str) -> int:
    async with penstock.connect(url, deadline_s=WAIT_S) as client:
        (status,) = await client.queues.status(queue)
        return int(status["messages"])


def test_a_program_that_takes_one_message_and_leaves_spoils_none_of_the_others(url: str) -> None:
    asyncio.run(fill(url))
    for life in range(6):
        done = run(TAKES_ONE, url)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [str(life)]

    assert asyncio.run(count(url, "work")) == MESSAGES - 6
    assert asyncio.run(count(url, "dead")) == 0


def test_a_message_that_kills_its_consumers_is_found_and_the_others_are_not_blamed(
    url: str,
) -> None:
    asyncio.run(fill(url))
    lives = 0
    while run(DIES_OF_POISON, url).returncode == 3:
        lives += 1
        assert lives <= 4, "once unseen, and three times counted"

    async def dead() -> list[object]:
        async with penstock.connect(url, deadline_s=WAIT_S) as client:
            return [attributes["n"] for _, attributes, _ in await client.queues.browse("dead")]

    assert asyncio.run(dead()) == [7]

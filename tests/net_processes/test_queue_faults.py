"""Queues under bad conditions, with real processes: full disks, refusals, poison, and kill -9.

What was confirmed to a producer must be handed out, by one queue only; what was not may be lost.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest

import penstock
from penstock.client.queues.message import QueueMessage
from penstock.client.queues.producer import SendRefusedError
from penstock.client.queues.queues import Queues
from penstock.client.queues.receiver import Receiver
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.queues.parameters import AliasConfig, QueueConfig

PAYLOAD = bytes(100_000)
MOST_MESSAGES = 20_000
"""Far more than the small disk holds: a broker that never refuses fails the test."""


class Overlay:
    """A home broker with an alias queue, and sites with a work queue each; none runs at first."""

    def __init__(self, directory: Path, sites: dict[str, Path], home: Path, *targets: str) -> None:
        self.ports = {name: free_port() for name in ("home", *sites)}
        alias = AliasConfig("orders", targets or tuple(f"work@{site}" for site in sites))
        self.brokers = {"home": self._broker(directory, "home", home, tuple(sites), alias)}
        for name, place in sites.items():
            self.brokers[name] = self._broker(directory, name, place, ("home",))

    def _broker(
        self,
        directory: Path,
        name: str,
        place: Path,
        neighbours: tuple[str, ...],
        alias: AliasConfig | None = None,
    ) -> BrokerProcess:
        config = broker_config(
            name,
            str(place / name),
            listen=f"127.0.0.1:{self.ports[name]}",
            pubends=0,
            neighbours={
                each: NeighbourConfig(f"127.0.0.1:{self.ports[each]}") for each in neighbours
            },
            queues={} if alias else {"work": QueueConfig("work", max_deliveries=2)},
            aliases={"orders": alias} if alias else {},
        )
        path = directory / f"{name}.toml"
        write_config(path, config)
        return BrokerProcess(path, directory / f"{name}.log")

    def url(self, name: str) -> str:
        return f"penstock://127.0.0.1:{self.ports[name]}"

    @asynccontextmanager
    async def queues(self, name: str) -> AsyncIterator[Queues]:
        async with penstock.connect(self.url(name)) as client:
            yield client.queues


@pytest.fixture
def running() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def started(overlay: Overlay, running: ExitStack, *names: str) -> None:
    for name in names:
        running.callback(overlay.brokers[name].kill)
        overlay.brokers[name].start()


async def until(condition: Callable[[], bool]) -> None:
    """Give other tasks their turn until something has happened."""
    async with asyncio.timeout(60):
        for pause_s in itertools.chain([0.0], itertools.repeat(0.02)):
            if condition():
                return
            await asyncio.sleep(pause_s)


async def send_until_refused(queues: Queues, queue: str) -> tuple[set[int], str]:
    """Numbers that were confirmed, and why the first that was not was refused."""
    confirmed: set[int] = set()
    for n in range(MOST_MESSAGES):
        try:
            await queues.send(queue, {"n": n}, PAYLOAD)
        except SendRefusedError as refusal:
            return confirmed, str(refusal)
        confirmed.add(n)
    return confirmed, ""


class Seen:
    """What consumers were handed: how often, and how often without saying that it was again."""

    def __init__(self) -> None:
        self.times: Counter[int] = Counter()
        self.unmarked: Counter[int] = Counter()

    @asynccontextmanager
    async def consuming(self, url: str) -> AsyncIterator[None]:
        """A consumer of the work queue, while the block lasts."""
        async with asyncio.TaskGroup() as beside:
            consumer = beside.create_task(self._consume(url))
            yield
            consumer.cancel()

    async def _consume(self, url: str) -> None:
        async with penstock.connect(url) as client:
            async for message in client.queues.receive("work", prefetch=50):
                self.times[int(message["n"])] += 1
                self.unmarked[int(message["n"])] += not message.redelivered
                message.ack()

    def judge(self, confirmed: set[int]) -> None:
        assert confirmed <= self.times.keys(), f"lost {sorted(confirmed - self.times.keys())[:5]}"
        assert max(self.unmarked.values()) == 1


async def accepted(sending: Awaitable[object]) -> bool:
    """Whether a message was taken, and not refused for want of space."""
    try:
        await sending
    except SendRefusedError as error:
        if "space" not in error.reason:
            raise
        return False
    return True


async def test_a_full_disk_on_the_producers_side(
    small_disk: Path, tmp_path: Path, running: ExitStack
) -> None:
    overlay = Overlay(tmp_path, {"east": tmp_path}, small_disk)
    started(overlay, running, "home")
    # The destination is away, so everything stays at home until its disk is full.
    async with overlay.queues("home") as queues:
        confirmed, refusal = await send_until_refused(queues, "orders")
    assert confirmed
    assert "space" in refusal
    overlay.brokers["home"].kill()
    overlay.brokers["home"].start()
    started(overlay, running, "east")
    seen = Seen()
    async with seen.consuming(overlay.url("east")):
        await until(lambda: confirmed <= seen.times.keys())
        # There is room again, as soon as the disk has given it back.
        async with overlay.queues("home") as queues, asyncio.timeout(60):
            while not await accepted(queues.send("orders", {"n": MOST_MESSAGES}, PAYLOAD)):
                pass
        await until(lambda: MOST_MESSAGES in seen.times)
    seen.judge(confirmed)


async def test_a_full_disk_at_the_destination(
    small_disk: Path, tmp_path: Path, running: ExitStack
) -> None:
    overlay = Overlay(tmp_path, {"east": small_disk}, tmp_path)
    started(overlay, running, "home", "east")
    total = 1200
    async with overlay.queues("home") as queues:
        sender = queues.sender("orders")
        for n in range(total):
            await sender.send({"n": n}, PAYLOAD)
        # All of it is confirmed, although the destination has room for no more than a part.
        await sender.flush(deadline_s=60)
        why = ""
        async with asyncio.timeout(60):
            while "space" not in why:
                (status,) = await queues.status("orders")
                why = status["why"]
    assert status["messages"] > 0
    overlay.brokers["east"].kill()
    overlay.brokers["east"].start()
    seen = Seen()
    async with seen.consuming(overlay.url("east")):
        await until(lambda: len(seen.times) == total)
    seen.judge(set(range(total)))


async def test_a_destination_that_refuses_is_named_and_replaced(
    tmp_path: Path, running: ExitStack
) -> None:
    sites = {"east": tmp_path, "west": tmp_path}
    overlay = Overlay(tmp_path, sites, tmp_path, "nowhere@east", "work@west")
    started(overlay, running, "home", "east", "west")
    seen = Seen()
    async with seen.consuming(overlay.url("west")), overlay.queues("home") as queues:
        for n in range(20):
            await queues.send("orders", {"n": n}, b"")
        overlay.brokers["home"].kill()
        overlay.brokers["home"].start()
        for n in range(20, 40):
            await queues.send("orders", {"n": n}, b"")
        await until(lambda: len(seen.times) == 40)
        (status,) = await queues.status("orders")
    seen.judge(set(range(40)))
    assert "nowhere@east" in status["why"]
    assert "has no queue 'nowhere'; it has dead-letters, work" in status["why"]


async def test_a_poison_message_is_buried_although_the_broker_is_killed_meanwhile(
    tmp_path: Path, running: ExitStack
) -> None:
    overlay = Overlay(tmp_path, {"east": tmp_path}, tmp_path)
    started(overlay, running, "east")
    broker = overlay.brokers["east"]
    async with overlay.queues("east") as queues:
        await queues.send("work", {"n": 1}, b"poison")
    # A consumer takes it, says that it could not, and the broker dies with that on its disk.
    async with overlay.queues("east") as queues, queues.receive("work") as receiver:
        (message,) = await _next(receiver)
        message.nack()
        await receiver.flush()
        broker.kill()
        broker.start()
    async with overlay.queues("east") as queues, queues.receive("work") as receiver:
        (message,) = await _next(receiver)
        assert message.failed_deliveries == 1
        message.nack()
        await receiver.flush()
        broker.kill()
        broker.start()
    async with overlay.queues("east") as queues, queues.receive("dead-letters") as letters:
        (letter,) = await _next(letters)
        assert (letter.payload, letter["dead_letter_queue"]) == (b"poison", "work")
        assert letter["dead_letter_reason"] == "handed out 2 times in vain"
        letter.ack()
        await letters.flush()
        assert await queues.browse("work") == []


async def _next(receiver: Receiver) -> list[QueueMessage]:
    batch = await receiver.next_batch(deadline_s=30)
    assert batch is not None
    return list(batch)


async def test_an_unknown_queue_is_told_on_the_way_and_at_its_end(
    tmp_path: Path, running: ExitStack
) -> None:
    overlay = Overlay(tmp_path, {"east": tmp_path}, tmp_path)
    started(overlay, running, "home", "east")
    async with overlay.queues("home") as queues:
        with pytest.raises(SendRefusedError, match="'home' has no queue 'nowhere'; it has orders"):
            await queues.send("nowhere", {}, b"")
        with pytest.raises(SendRefusedError, match="broker 'north' cannot be reached from 'home'"):
            await queues.send("work@north", {}, b"")
        refused = await _refusal(queues, "nowhere@east")
        async with asyncio.timeout(30):
            # The link between the brokers may come up a moment after the brokers.
            while "cannot be reached" in refused:
                refused = await _refusal(queues, "nowhere@east")
    assert "broker 'east' has no queue 'nowhere'; it has dead-letters, work" in refused


async def _refusal(queues: Queues, queue: str) -> str:
    with pytest.raises(SendRefusedError) as refused:
        await queues.send(queue, {}, b"")
    return str(refused.value)

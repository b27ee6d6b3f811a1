"""Real broker processes on loopback, killed with ``kill -9`` in the middle of traffic."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli.errors import UserError
from penstock.cli.messaging import queues as commands
from penstock.cli.operations.why import why
from penstock.client.queues.queues import Queues
from penstock.client.queues.reader import ReceiveRefusedError
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.queues.parameters import AliasConfig, QueueConfig

TOTAL = 3000


class Cluster:
    """A home broker with an alias queue, and two sites with a work queue each."""

    def __init__(self, directory: Path) -> None:
        self.ports = {name: free_port() for name in ("home", "east", "west")}
        self.brokers = {name: self._broker(directory, name) for name in self.ports}

    def _broker(self, directory: Path, name: str) -> BrokerProcess:
        neighbours = ("east", "west") if name == "home" else ("home",)
        alias = AliasConfig("orders", ("work@east", "work@west"))
        config = broker_config(
            name,
            str(directory / name),
            listen=f"127.0.0.1:{self.ports[name]}",
            pubends=0,
            neighbours={
                each: NeighbourConfig(f"127.0.0.1:{self.ports[each]}") for each in neighbours
            },
            queues={} if name == "home" else {"work": QueueConfig("work", max_deliveries=2)},
            aliases={"orders": alias} if name == "home" else {},
        )
        path = directory / f"{name}.toml"
        write_config(path, config)
        return BrokerProcess(path, directory / f"{name}.log")

    def url(self, name: str) -> str:
        return f"penstock://127.0.0.1:{self.ports[name]}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    with ExitStack() as running:
        for broker in made.brokers.values():
            running.callback(broker.kill)
            broker.start()
        yield made


async def _work(url: str, seen: Counter[int], unmarked: Counter[int]) -> None:
    async with penstock.connect(url) as client:
        async for message in client.queues.receive("work", prefetch=100):
            seen[int(message["n"])] += 1
            unmarked[int(message["n"])] += not message.redelivered
            message.ack()


async def _until(condition: Callable[[], bool]) -> None:
    """Give other tasks their turn until something has happened."""
    async with asyncio.timeout(60):
        for pause_s in itertools.chain([0.0], itertools.repeat(0.02)):
            if condition():
                return
            await asyncio.sleep(pause_s)


async def test_killing_either_side_loses_nothing_and_doubles_nothing(cluster: Cluster) -> None:
    seen: dict[str, Counter[int]] = {site: Counter() for site in ("east", "west")}
    unmarked: dict[str, Counter[int]] = {site: Counter() for site in ("east", "west")}
    async with asyncio.TaskGroup() as group:
        workers = [
            group.create_task(_work(cluster.url(site), seen[site], unmarked[site])) for site in seen
        ]
        async with penstock.connect(cluster.url("home")) as client:
            sender = client.queues.sender("orders")
            for n in range(TOTAL):
                await sender.send({"n": n}, b"x" * 1000)
                if n in (TOTAL // 3, 2 * TOTAL // 3):
                    victim = cluster.brokers["east" if n == TOTAL // 3 else "home"]
                    await sender.flush()
                    victim.kill()
                    victim.start()
            await sender.flush()
        await _until(lambda: len(seen["east"]) + len(seen["west"]) >= TOTAL)
        for worker in workers:
            worker.cancel()
    assert seen["east"].keys() | seen["west"].keys() == set(range(TOTAL))
    assert not seen["east"].keys() & seen["west"].keys()
    for counts in unmarked.values():
        assert max(counts.values(), default=0) <= 1


async def test_bad_input_gets_a_clear_answer(cluster: Cluster) -> None:
    async with penstock.connect(cluster.url("home")) as client:
        queues = client.queues
        with pytest.raises(penstock.PublishRefusedError, match="has no queue 'nowhere'"):
            await queues.send("nowhere", {}, b"")
        with pytest.raises(ReceiveRefusedError, match="write-only"):
            await queues.receive("orders").open()
        with pytest.raises(ReceiveRefusedError, match="has no queue 'nowhere'"):
            await queues.receive("nowhere").open()
        with pytest.raises(penstock.PenstockError, match="is not a destination of"):
            await queues.retire("orders", "work@north")


async def test_a_poison_message_becomes_a_dead_letter(cluster: Cluster) -> None:
    async with penstock.connect(cluster.url("east")) as client:
        queues = client.queues
        await queues.send("work", {"n": 1}, b"poison")
        async with queues.receive("work") as receiver:
            tries = 0
            async for message in receiver:
                tries += 1
                assert message.failed_deliveries == tries - 1
                message.nack()
                if tries == 2:
                    break
            await receiver.flush()
        async with queues.receive("dead-letters") as letters:
            batch = await letters.next_batch(deadline_s=30)
            (letter,) = batch
            assert letter.payload == b"poison"
            assert letter["dead_letter_queue"] == "work"
            assert letter["n"] == 1
            letter.ack()
            await letters.flush()
        (status,) = await queues.status("work")
        assert (status["messages"], status["dead_messages"]) == (0, 1)


async def test_browse_purge_and_priorities(cluster: Cluster) -> None:
    async with penstock.connect(cluster.url("east")) as client:
        queues = client.queues
        for n, priority in ((0, 4), (1, 9), (2, 0)):
            await queues.send("work", {"n": n}, b"", priority=priority)
        assert [each[1]["n"] for each in await queues.browse("work")] == [0, 1, 2]
        assert [each[1]["n"] for each in await queues.browse("work", selector="n > 1")] == [2]
        async with queues.receive("work", ack="auto") as receiver:
            order = []
            async for message in receiver:
                order.append(message["n"])
                if len(order) == 3:
                    break
        assert order == [1, 0, 2]
        await queues.send("work", {"n": 3}, b"")
        assert await queues.purge("work") >= 1
        assert await queues.browse("work") == []


async def test_a_destination_is_retired_and_added_while_messages_flow(cluster: Cluster) -> None:
    seen: Counter[int] = Counter()
    unmarked: Counter[int] = Counter()
    async with penstock.connect(cluster.url("home")) as client:
        queues = client.queues
        assert await queues.retire("orders", "work@west") == ["work@east"]
        for n in range(50):
            await queues.send("orders", {"n": n}, b"")
        worker = asyncio.create_task(_work(cluster.url("east"), seen, unmarked))
        await _until(lambda: len(seen) == 50)
        worker.cancel()
        assert await queues.add_destination("orders", "work@west") == ["work@east", "work@west"]


async def test_a_client_sends_through_one_broker_to_a_queue_on_another(cluster: Cluster) -> None:
    async with penstock.connect(cluster.url("home")) as client:
        queues = client.queues
        await _until_accepted(queues, "work@east")
    async with penstock.connect(cluster.url("east")) as client:
        found = await client.queues.browse("work")
        assert [each[1]["n"] for each in found] == [7]


async def _until_accepted(queues: Queues, queue: str) -> None:
    """The link between the brokers may come up a moment after the brokers."""
    async with asyncio.timeout(30):
        while True:
            with suppress(penstock.PublishRefusedError):
                await queues.send(queue, {"n": 7}, b"")
                return
            await asyncio.sleep(0.05)


def test_the_command_line_sends_shows_and_receives(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    url = cluster.url("west")

    def said() -> list[dict[str, Any]]:
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    commands.send("work", "hello", attr=("n:int=3",), url=url, json=True)
    (sent,) = said()
    assert (sent["queue"], sent["sent"]) == ("work", 1)
    commands.receive("work", browse=True, url=url, json=True)
    commands.receive("work", count=1, wait_s=30, url=url, json=True)
    seen, taken = said()
    assert seen["payload"] == taken["payload"] == "hello"
    assert taken["attributes"] == {"n": 3}
    commands.list_queues(url=url, json=True)
    ((work, letters),) = said()
    assert (work["name"], letters["name"]) == ("work", "dead-letters")
    commands.show_queue("work", url=url)
    assert "consumed messages" in capsys.readouterr().out
    commands.purge_queue("work", url=url, json=True)
    assert said() == [{"queue": "work", "purged": 0}]
    with pytest.raises(UserError, match="has no queue 'nowhere'"):
        commands.send("nowhere", "x", url=url)


def test_scripts_need_no_event_loop(cluster: Cluster) -> None:
    with penstock.blocking.connect(cluster.url("west")) as client:
        with client.queues.sender("work") as sender:
            for n in range(10):
                sender.send({"n": n}, b"")
        with client.queues.receive("work") as receiver:
            seen = []
            for message in receiver.messages(deadline_s=30):
                with message.process():
                    seen.append(message["n"])
                if len(seen) == 10:
                    break
            receiver.flush()
        assert seen == list(range(10))
        # What the queue still counts may be rows of another test whose owner is being decided.
        assert client.queues.browse("work") == []


def test_why_names_what_holds_an_alias_queue_back(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    url = cluster.url("home")
    with penstock.blocking.connect(url) as client, client.queues.sender("orders", "till-7") as till:
        till.send({"n": 0}, b"")
        till.flush()
    why("orders", url=url)
    told = capsys.readouterr().out
    assert "orders: " in told
    assert "work@east: " in told
    assert "work@west: " in told
    # A producer is found by its name, too.
    why("till-7", url=url, json=True)
    document = json.loads(capsys.readouterr().out)
    assert (document["service"], document["name"]) == ("queues", "orders")
    with pytest.raises(UserError, match=r"knows no 'nowhere'.*alias queues are orders"):
        why("nowhere", url=url)

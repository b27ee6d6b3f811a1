"""Real broker processes on loopback: groups, commands, and ``kill -9`` in the middle of traffic."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import penstock
from penstock.cli.errors import UserError
from penstock.cli.messaging.groups import join
from penstock.cli.messaging.queues import send
from penstock.client.blocking.client import connect as connect_blocking
from penstock.client.client import Client
from penstock.client.groups.group import Group
from penstock.client.groups.producer import GroupSendError
from penstock.client.groups.reader import JoinRefusedError
from penstock.net.broker.config import NeighbourConfig, broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess, free_port
from penstock.services.multicast.why_text import why_text

LINKS = {"a": "bc", "b": "ad", "c": "ad", "d": "bc"}
"""A diamond: two ways from a to d."""

TOTAL = 400


class Diamond:
    """Four brokers; b is on the shorter way."""

    def __init__(self, directory: Path) -> None:
        self.ports = {name: free_port() for name in LINKS}
        self.brokers = {name: self._broker(directory, name) for name in LINKS}

    def _broker(self, directory: Path, name: str) -> BrokerProcess:
        config = broker_config(
            name,
            str(directory / name),
            listen=f"127.0.0.1:{self.ports[name]}",
            pubends=0,
            neighbours={
                each: NeighbourConfig(
                    f"127.0.0.1:{self.ports[each]}", cost=2 if "c" in (name, each) else 1
                )
                for each in LINKS[name]
            },
        )
        path = directory / f"{name}.toml"
        write_config(path, config)
        return BrokerProcess(path, directory / f"{name}.log")

    def url(self, name: str) -> str:
        return f"penstock://127.0.0.1:{self.ports[name]}"


@pytest.fixture(scope="module")
def diamond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Diamond]:
    made = Diamond(tmp_path_factory.mktemp("diamond"))
    with ExitStack() as running:
        for broker in made.brokers.values():
            running.callback(broker.kill)
            broker.launch()
        for broker in made.brokers.values():
            broker.wait_ready()
        yield made


async def _until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Give other tasks their turn until something has happened."""
    async with asyncio.timeout(60):
        for pause_s in itertools.chain([0.0], itertools.repeat(0.02)):
            if await condition():
                return
            await asyncio.sleep(pause_s)


async def _exists(client: Client, group: str) -> bool:
    return bool((await client.groups.members(group))[group])


async def _are(group: Group, members: tuple[str, ...]) -> bool:
    return group.members == members


def test_a_group_across_brokers(diamond: Diamond) -> None:
    async def talk() -> None:
        async with (
            penstock.connect(diamond.url("a"), name="alice") as alice,
            penstock.connect(diamond.url("d"), name="dora") as dora,
            alice.group("chat") as here,
            dora.group("chat") as there,
        ):
            await here.wait_for_view(2)
            await there.wait_for_view(2)
            assert here.members == there.members == ("alice@a", "dora@d")
            receipt = await here.send({"n": 1}, b"hello")
            assert receipt.sequence == 0
            for group in (here, there):
                message = await anext(aiter(group.messages(deadline_s=20)))
                assert (message["n"], message.payload) == (1, b"hello")
                assert message.sender.startswith("alice/")
            await there.leave()
            await _until(lambda: _are(here, ("alice@a",)))
            (explained,) = await alice.groups.why("alice")
            assert explained["law"] == "improved"

    asyncio.run(talk())


def test_a_relay_is_killed_in_the_middle_of_traffic(diamond: Diamond) -> None:
    """Everything arrives once and in order, over the other way."""

    async def run() -> list[int]:
        seen: list[int] = []
        async with (
            penstock.connect(diamond.url("a"), name="source") as source,
            penstock.connect(diamond.url("d"), name="sink") as sink,
            sink.group("stream") as group,
        ):
            await _until(lambda: _exists(source, "stream"))
            sender = source.groups.sender("stream")

            async def feed() -> None:
                for number in range(TOTAL):
                    await sender.send({"n": number}, bytes(2000), deadline_s=60)
                await sender.flush(deadline_s=60)

            feeding = asyncio.create_task(feed())
            async for message in group.messages(deadline_s=60):
                seen.append(int(message["n"]))
                if len(seen) == TOTAL // 4:
                    diamond.brokers["b"].kill()
                if len(seen) == TOTAL:
                    break
            await feeding
        return seen

    try:
        assert asyncio.run(run()) == list(range(TOTAL))
    finally:
        diamond.brokers["b"].start()


def test_refusals_reach_the_application(diamond: Diamond) -> None:
    async def run() -> None:
        async with penstock.connect(diamond.url("a"), name="x") as client:
            with pytest.raises(JoinRefusedError, match="at most 255"):
                await client.group("g" * 256).join()
            with pytest.raises(GroupSendError, match="has no members"):
                await client.group("void", must_exist=True).send(None, b"x")
            await client.group("void").send(None, b"nobody gets this, and nobody minds")
            with pytest.raises(GroupSendError, match="max_payload_bytes"):
                await client.group("void").send(None, bytes(9 << 20))

    asyncio.run(run())


def test_the_blocking_client(diamond: Diamond) -> None:
    with connect_blocking(diamond.url("a"), name="blocking") as client:
        with client.group("quiet") as group:
            assert group.members == ("blocking@a",)
            group.send({"n": 7}, b"to myself")
            message = next(group.messages(deadline_s=20))
            assert message["n"] == 7
        assert client.groups.members("quiet") == {"quiet": []}


def test_the_commands(diamond: Diamond, capsys: pytest.CaptureFixture[str]) -> None:
    async def conversation() -> None:
        url = diamond.url("a")
        joining = asyncio.to_thread(
            join, "room", name="bob", inbox=True, count=3, url=diamond.url("d"), json=True
        )
        task = asyncio.create_task(joining)
        async with penstock.connect(url) as client:
            await _until(lambda: _exists(client, "@bob"))
            await _until(lambda: _exists(client, "room"))
        for words, group in (("one", "room"), ("two", "@bob"), ("three", "room")):
            await asyncio.to_thread(send, words, group=(group,), attr=("k=v",), url=url)
        await task

    asyncio.run(conversation())
    lines = capsys.readouterr().out.splitlines()
    assert lines.count("1 message sent to room") == 2
    documents = [json.loads(line) for line in lines if line.startswith("{")]
    assert {"group": "room", "view": 1, "members": ["bob@d"]} in documents
    messages = {each["payload"]: each for each in documents if "payload" in each}
    assert messages.keys() == {"one", "two", "three"}
    assert messages["two"]["group"] == "@bob"
    assert messages["one"]["attributes"] == {"k": "v"}


def test_commands_that_make_no_sense(diamond: Diamond) -> None:
    url = diamond.url("a")
    with pytest.raises(UserError, match="has no members"):
        send("x", group=("void",), must_exist=True, url=url)
    with pytest.raises(UserError, match="only positional argument"):
        send("x", "y", group=("room",), url=url)
    with pytest.raises(UserError, match="at least one group to join"):
        join(url=url)


def test_why_is_told_in_words() -> None:
    explained = {
        "sender": "alice/1",
        "groups": ["room"],
        "law": "improved",
        "benefit": "throughput",
        "waiting_messages": 3,
        "waiting_for_s": 1.25,
        "price": 0.75,
        "dearest_link": "a->b",
        "window_full": False,
        "account": {
            "balance": -0.5,
            "balance_unit": "packets",
            "rate_packets_per_s": 2.0,
            "waits_for": "price",
        },
        "tree": [{"link": "a->b", "price": 0.75}],
    }
    text = why_text({"senders": [explained]})
    assert "waits for the price" in text
    assert "the dearest link is a->b" in text
    assert "tree:    a->b 0.75" in text

"""Everything that takes part in a session closes in the same way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest

import penstock
from penstock.client.client import Client
from penstock.net.process import BrokerProcess
from tests.client.conftest import StartBroker, url_of

DEADLINE_S = 30.0
QUEUE = '[queues.work]\nname = "work"'


@dataclass(frozen=True)
class Participant:
    """How one is made, and a call that has to fail once it is closed."""

    name: str
    make: Callable[[Client, AsyncExitStack], Awaitable[Any]]
    use: Callable[[Any], Awaitable[Any]]
    said: str = "closed"


async def publisher(client: Client, _: AsyncExitStack) -> Any:
    return client.publisher()


async def sink(client: Client, _: AsyncExitStack) -> Any:
    return client.sink("s")


async def subscription(client: Client, _: AsyncExitStack) -> Any:
    return client.subscribe()


async def queue_sender(client: Client, _: AsyncExitStack) -> Any:
    return client.queues.sender("work")


async def consumer(client: Client, _: AsyncExitStack) -> Any:
    return client.queues.receive("work")


async def member(client: Client, _: AsyncExitStack) -> Any:
    return client.group("g")


async def group_sender(client: Client, _: AsyncExitStack) -> Any:
    return client.groups.sender("g")


async def datagram_publisher(client: Client, _: AsyncExitStack) -> Any:
    return client.datagram()


async def datagram_subscription(client: Client, stack: AsyncExitStack) -> Any:
    datagrams = await stack.enter_async_context(client.datagram())
    return datagrams.subscribe()


async def gossip_peer(client: Client, _: AsyncExitStack) -> Any:
    return client.gossip()


async def gossip_group(client: Client, stack: AsyncExitStack) -> Any:
    peer = await stack.enter_async_context(client.gossip())
    return await peer.join("g")


PARTICIPANTS = [
    Participant("publisher", publisher, lambda it: it.publish()),
    Participant("sink", sink, lambda it: it.drop(1)),
    Participant("subscription", subscription, lambda it: it.next()),
    Participant("queue sender", queue_sender, lambda it: it.publish()),
    Participant("consumer", consumer, lambda it: it.next()),
    Participant("member", member, lambda it: it.next()),
    Participant("group sender", group_sender, lambda it: it.publish()),
    Participant("datagram publisher", datagram_publisher, lambda it: it.publish()),
    Participant("datagram subscription", datagram_subscription, lambda it: it.next()),
    Participant("gossip peer", gossip_peer, lambda it: it.join("other")),
    Participant("gossip group", gossip_group, lambda it: it.publish(), "has left group 'g'"),
]

each_participant = pytest.mark.parametrize("one", PARTICIPANTS, ids=lambda one: one.name)


@pytest.fixture(scope="module")
def broker(start_broker: StartBroker) -> BrokerProcess:
    return start_broker("all", f'pubends = ["all.1"]\n{QUEUE}')


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with penstock.connect(url, deadline_s=DEADLINE_S) as connected:
        yield connected


@each_participant
async def test_a_block_closes_and_closing_again_does_nothing(
    one: Participant, client: Client
) -> None:
    async with AsyncExitStack() as stack:
        made = await one.make(client, stack)
        async with made as entered:
            assert entered is made
        await made.close()
        await made.close(deadline_s=DEADLINE_S)
        with pytest.raises(penstock.Disconnected, match=one.said):
            await asyncio.wait_for(one.use(made), DEADLINE_S)


@each_participant
async def test_what_was_never_opened_can_be_closed(one: Participant, client: Client) -> None:
    async with AsyncExitStack() as stack:
        made = await one.make(client, stack)
        await made.close()
        await made.close()
        with pytest.raises(penstock.Disconnected, match=one.said):
            await asyncio.wait_for(one.use(made), DEADLINE_S)


@each_participant
async def test_closing_after_the_client_was_closed_does_nothing(one: Participant, url: str) -> None:
    async with AsyncExitStack() as stack:
        client = await penstock.connect(url, deadline_s=DEADLINE_S)
        made = await one.make(client, stack)
        await made.__aenter__()
        await client.close()
        await made.close()
        await made.close()


@pytest.fixture(scope="module")
def mortal(start_broker: StartBroker) -> BrokerProcess:
    return start_broker("mortal", f'pubends = ["mortal.1"]\n{QUEUE}')


async def test_all_close_after_the_connection_was_lost(mortal: BrokerProcess) -> None:
    async with AsyncExitStack() as stack:
        client = await penstock.connect(url_of(mortal), deadline_s=DEADLINE_S)
        stack.push_async_callback(client.close)
        opened = []
        for one in PARTICIPANTS:
            if one.name != "datagram publisher":  # a client has one at a time
                opened.append((one, await one.make(client, stack)))
                await opened[-1][1].__aenter__()
        lost = client._context.session._lost
        await asyncio.to_thread(mortal.kill)
        await asyncio.wait_for(asyncio.shield(lost), DEADLINE_S)
        assert not client.connected
        for one, made in opened:
            await asyncio.wait_for(made.close(), DEADLINE_S)
            await made.close()
            with pytest.raises(penstock.Disconnected, match=one.said):
                await asyncio.wait_for(one.use(made), DEADLINE_S)


async def test_closing_an_old_publisher_again_leaves_its_successor_alone(client: Client) -> None:
    old = client.publisher("named", pubend="all.1")
    await old.close()
    new = client.publisher("named", pubend="all.1")
    await old.close()
    assert (await new.publish({"n": 1})).pubend == "all.1"


async def test_a_durable_name_can_be_used_again_after_closing(client: Client) -> None:
    for _ in range(2):
        async with client.subscribe(durable="again"):
            pass
    await client.delete_subscription("again")

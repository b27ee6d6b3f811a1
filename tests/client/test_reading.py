"""What all readers share, on a queue: its consumers are the strictest of them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import penstock
from penstock.client.client import Client
from penstock.net.process import BrokerProcess
from tests.client.conftest import StartBroker

DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def broker(start_broker: StartBroker) -> BrokerProcess:
    return start_broker("q", '[queues.work]\nname = "work"\n[queues.more]\nname = "more"')


@pytest.fixture
async def client(url: str) -> AsyncIterator[Client]:
    async with penstock.connect(url, deadline_s=DEADLINE_S) as connected:
        yield connected


async def test_a_loop_that_was_left_continues_with_the_next_message(client: Client) -> None:
    async with client.queues.sender("work") as sender:
        await sender.publish_batch([({"n": n}, b"") for n in range(4)])
    seen: list[object] = []
    async with client.queues.receive("work", ack="auto") as receiver:
        for _ in range(2):
            async for message in receiver.messages(deadline_s=DEADLINE_S):
                seen.append(message["n"])
                if len(seen) % 2 == 0:
                    break
        assert seen == [0, 1, 2, 3]
        message.ack()
        await receiver.flush()
    assert await client.queues.browse("work") == []


async def test_a_closed_reader_gives_no_more_messages(client: Client) -> None:
    async with client.queues.sender("more") as sender:
        await sender.publish_batch([({"n": n}, b"") for n in range(3)])
    receiver = client.queues.receive("more")
    first = await receiver.next(deadline_s=DEADLINE_S)
    first.ack()
    await receiver.close()
    assert [message async for message in receiver] == []
    assert await receiver.next_batch() is None
    with pytest.raises(penstock.Disconnected, match="consumer of queue 'more' is closed"):
        await receiver.next()
    assert [row[1]["n"] for row in await client.queues.browse("more")] == [1, 2]


async def test_a_deadline_names_the_reader(client: Client) -> None:
    async with client.group("silent") as group:
        with pytest.raises(penstock.DeadlineExceeded, match="group 'silent': no message came"):
            await group.next(deadline_s=0)
        assert group.members == (f"{client.name}@q",)
        assert (await group.send({"n": 1})).sequence == 0
        batches = group.batches(deadline_s=DEADLINE_S)
        assert [message["n"] for message in await anext(batches)] == [1]


def test_the_blocking_half_reads_in_the_same_way(url: str) -> None:
    with penstock.blocking.connect(url, deadline_s=DEADLINE_S) as client:
        with client.group("g") as group:
            assert group.joins == 1
            assert (group.name, group.view > 0) == ("g", True)
            assert group.sender is group.sender
            group.sender.send({"n": 1})
            group.send({"n": 2})
            assert [group.next(deadline_s=DEADLINE_S)["n"] for _ in range(2)] == [1, 2]
            assert next(iter(group.views())).members == group.members
        with pytest.raises(penstock.Disconnected, match="group 'g' is closed"):
            group.next()
        client.queues.purge("more")
        for n in (1, 2):
            client.queues.send("more", {"n": n})
        receiver = client.queues.receive("more", ack="auto")
        assert [receiver.next(deadline_s=DEADLINE_S)["n"] for _ in range(2)] == [1, 2]
        receiver.close()
        receiver.close()
        assert list(receiver) == []
    receiver.close()

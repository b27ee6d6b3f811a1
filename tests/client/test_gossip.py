"""The application's side of gossip: publish, receive, know why, leave."""

from __future__ import annotations

import asyncio

import pytest

from penstock.client.errors import DeadlineExceeded, Disconnected
from penstock.client.gossip import EventRefused, GossipPeer, ask_why, gossip
from penstock.core.clock import MILLISECOND
from penstock.gossip.parameters import AdaptationParameters, GossipParameters

QUICK = GossipParameters(gossip_period_ns=10 * MILLISECOND)
PATIENCE_S = 20.0


def slow(tokens: int = 2) -> GossipParameters:
    """A bucket that is as good as never filled again."""
    adaptation = AdaptationParameters(
        initial_rate_msgs_per_s=0.001, lowest_rate_msgs_per_s=0.001, bucket_tokens=tokens
    )
    return GossipParameters(law="paper", adaptation=adaptation)


async def test_two_processes_talk_without_a_broker() -> None:
    async with (
        gossip() as first,
        gossip(peers=[first.address]) as second,
    ):
        one = await first.join("prices", parameters=QUICK)
        two = await second.join("prices", parameters=QUICK)
        await two.publish(b"101.5", {"symbol": "ACME"}, deadline_s=PATIENCE_S)
        event = await one.next(deadline_s=PATIENCE_S)
        assert (event.payload, event.attributes) == (b"101.5", {"symbol": "ACME"})


async def test_a_publication_waits_and_its_deadline_says_why() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow())
        await group.publish(b"the only token", deadline_s=PATIENCE_S)
        assert not group.try_publish(b"no token")
        with pytest.raises(DeadlineExceeded, match="the rate is held") as caught:
            await group.publish(b"waits", deadline_s=0.01)
        assert caught.value.accepted


async def test_try_publish_takes_what_the_rate_allows() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow(tokens=4))
        assert [group.try_publish(b"x") for _ in range(4)] == [True, True, False, False]


async def test_an_event_that_fits_no_datagram_is_refused_with_the_bound() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join()
        with pytest.raises(EventRefused, match="a datagram has room for"):
            await group.publish(bytes(5000))


async def test_groups_of_one_process_divide_its_buffers() -> None:
    async with GossipPeer("127.0.0.1:0", buffer_events=80) as peer:
        first = await peer.join("one")
        assert first.why().own_buffer == 80
        await peer.join("two")
        assert first.why().own_buffer == 40
        peer.resize(60)
        assert first.why().own_buffer == 30


async def test_a_peer_on_this_machine_says_why() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        await peer.join("g")
        answer = await ask_why(peer.address, "g", deadline_s=PATIENCE_S)
        assert answer.peer == peer.address
        with pytest.raises(DeadlineExceeded, match="no peer of group 'h'"):
            await ask_why(peer.address, "h", deadline_s=0.05)


async def test_leaving_ends_the_iteration_and_refuses_what_waits() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow())
        await group.publish(b"the only token")
        waiting = asyncio.create_task(group.publish(b"waits"))
        await asyncio.sleep(0)
        await group.leave()
        assert [event async for event in group] == []
        with pytest.raises(EventRefused, match="left"):
            await waiting
        with pytest.raises(Disconnected, match="join it again"):
            group.try_publish(b"x")


async def test_a_peer_that_is_not_open_says_so() -> None:
    with pytest.raises(Disconnected, match="async with"):
        await GossipPeer("127.0.0.1:0").join()


async def test_what_is_not_read_is_bounded_and_counted() -> None:
    async with gossip() as first, gossip(peers=[first.address]) as second:
        one = await first.join(parameters=QUICK, unread_events=2)
        two = await second.join(parameters=QUICK)
        for number in range(5):
            await two.publish(bytes([number]), deadline_s=PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            for _ in iter(lambda: one.missed >= 3, True):
                await asyncio.sleep(0)
        assert one.missed == 3

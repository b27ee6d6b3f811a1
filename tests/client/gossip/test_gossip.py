"""The application's side of gossip: publish, receive, know why, leave."""

from __future__ import annotations

import asyncio

import pytest

import penstock
from penstock.client.errors import DeadlineExceeded, Disconnected
from penstock.client.gossip.gossip import EventRefused, GossipPeer, gossip_peer
from penstock.content.rows.columns import InvalidAttribute
from penstock.core.trace import TraceRecord
from penstock.services.gossip.parameters import AdaptationParameters, GossipParameters

QUICK = GossipParameters().with_period(0.01)
PATIENCE_S = 20.0


def slow(tokens: int = 2) -> GossipParameters:
    """A bucket that is as good as never filled again."""
    adaptation = AdaptationParameters(
        initial_rate_msgs_per_s=0.001, lowest_rate_msgs_per_s=0.001, bucket_tokens=tokens
    )
    return GossipParameters(law="paper", adaptation=adaptation)


async def test_two_processes_talk_without_a_broker() -> None:
    async with (
        gossip_peer() as first,
        gossip_peer(peers=[first.address]) as second,
    ):
        one = await first.join("prices", parameters=QUICK)
        two = await second.join("prices", parameters=QUICK)
        await two.publish({"symbol": "ACME"}, b"101.5", deadline_s=PATIENCE_S)
        event = await one.next(deadline_s=PATIENCE_S)
        assert (event.payload, event.attributes) == (b"101.5", {"symbol": "ACME"})


async def test_a_publication_waits_and_its_deadline_says_why() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow())
        await group.publish(payload=b"the only token", deadline_s=PATIENCE_S)
        assert not group.try_publish(payload=b"no token")
        with pytest.raises(DeadlineExceeded, match="the rate is held") as caught:
            await group.publish(payload=b"waits", deadline_s=0.01)
        assert caught.value.accepted


async def test_try_publish_takes_what_the_rate_allows() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow(tokens=4))
        assert [group.try_publish(payload=b"x") for _ in range(4)] == [True, True, False, False]


async def test_an_event_that_fits_no_datagram_is_refused_with_the_bound() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join()
        with pytest.raises(EventRefused, match="a datagram has room for"):
            await group.publish(payload=bytes(5000))


async def test_groups_of_one_process_divide_its_buffers() -> None:
    async with GossipPeer("127.0.0.1:0", buffer_events=80) as peer:
        first = await peer.join("one")
        assert first.why().own_buffer == 80
        await peer.join("two")
        assert first.why().own_buffer == 40
        peer.resize(60)
        assert first.why().own_buffer == 30


async def test_leaving_ends_the_iteration_and_refuses_what_waits() -> None:
    async with GossipPeer("127.0.0.1:0") as peer:
        group = await peer.join(parameters=slow())
        await group.publish(payload=b"the only token")
        waiting = asyncio.create_task(group.publish(payload=b"waits"))
        await asyncio.sleep(0)
        await group.leave()
        assert [event async for event in group] == []
        with pytest.raises(EventRefused, match="left"):
            await waiting
        with pytest.raises(Disconnected, match="join it again"):
            group.try_publish(payload=b"x")


async def test_a_peer_that_is_not_open_says_so() -> None:
    with pytest.raises(Disconnected, match="async with"):
        await GossipPeer("127.0.0.1:0").join()


async def test_what_is_not_read_is_bounded_and_counted() -> None:
    async with gossip_peer() as first, gossip_peer(peers=[first.address]) as second:
        one = await first.join(parameters=QUICK, unread_events=2)
        two = await second.join(parameters=QUICK)
        for number in range(5):
            await two.publish(payload=bytes([number]), deadline_s=PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            for _ in iter(lambda: one.missed >= 3, True):
                await asyncio.sleep(0)
        assert one.missed == 3


async def test_what_an_event_cannot_carry_is_refused_by_name() -> None:
    async with gossip_peer() as peer:
        group = await peer.join()
        with pytest.raises(InvalidAttribute, match="'when' has a value of type list"):
            await group.publish({"when": [1]})  # type: ignore[dict-item]
        with pytest.raises(InvalidAttribute, match="64-bit"):
            group.try_publish({"huge": 2**70})
        with pytest.raises(EventRefused, match="surrogates not allowed"):
            await group.publish({"name": "\ud800"})
        with pytest.raises(TypeError, match="encode it first"):
            await group.publish(payload="text")  # type: ignore[arg-type]
        await group.publish({"fine": True}, deadline_s=PATIENCE_S)


async def test_parameters_out_of_range_and_a_second_join_are_refused() -> None:
    async with gossip_peer() as peer:
        with pytest.raises(ValueError, match=r"group 'g': .*fanout"):
            await peer.join("g", parameters=GossipParameters(fanout=0))
        await peer.join("g")
        with pytest.raises(ValueError, match="in group 'g' already"):
            await peer.join("g")


async def test_a_peer_hands_over_what_it_records() -> None:
    records: list[TraceRecord] = []
    enough = asyncio.Event()

    def take(batch: list[TraceRecord]) -> None:
        records.extend(batch)
        enough.set()

    async with gossip_peer(on_trace=take) as peer:
        await peer.join("g", parameters=QUICK)
        await asyncio.wait_for(enough.wait(), PATIENCE_S)
    allowed = next(record for record in records if record.metric == "allowed_msgs_per_s")
    assert (allowed.node, allowed.subject) == (peer.address, "g")
    assert allowed.detail == "nothing: the application uses less than is allowed"


async def test_a_client_can_be_a_peer_too() -> None:
    """Gossip needs no broker, so the client need not be connected."""
    client = penstock.connect("penstock://127.0.0.1:1")
    async with client.gossip(buffer_events=7) as peer:
        assert (await peer.join()).why().own_buffer == 7

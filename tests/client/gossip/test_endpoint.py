"""Gossip over real sockets: groups find each other, garbage is dropped, strangers learn nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from xxhash import xxh3_64_intdigest

from penstock.client.gossip.endpoint import GossipEndpoint, parse_address, written_address
from penstock.content.codec.envelope import CHECKSUM, MAGIC, PREAMBLE, WIRE_VERSION
from penstock.content.codec.stream import encode
from penstock.core.clock import HOUR, MILLISECOND
from penstock.core.machine import Effect
from penstock.services.gossip.facts import (
    DeliverEvents,
    InGroup,
    JoinGossipGroup,
    Leave,
    PublishEvent,
)
from penstock.services.gossip.messages import BufferClaim, Event, Gossip, WhyRequest, event_id
from penstock.services.gossip.parameters import GossipParameters

PARAMETERS = GossipParameters(group="g", gossip_period_ns=10 * MILLISECOND)
PATIENCE_S = 20.0

SLOW = GossipParameters(group="g", gossip_period_ns=HOUR, datagrams_per_source=5)
"""No round ends during a test."""


class Inbox:
    """What one process was given, and a way to wait for it."""

    def __init__(self) -> None:
        self.payloads: list[bytes] = []
        self._changed = asyncio.Event()

    def take(self, group: str, effect: Effect) -> None:
        if isinstance(effect, DeliverEvents):
            self.payloads += [event.payload for event in effect.events]
            self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


async def turns_until(condition: Callable[[], bool]) -> None:
    """Let the event loop turn until something that nobody announces has come about."""
    async with asyncio.timeout(PATIENCE_S):
        for _ in iter(condition, True):
            await asyncio.sleep(0)


class Group:
    """Endpoints on the loopback, each knowing only the first."""

    def __init__(self) -> None:
        self.endpoints: list[GossipEndpoint] = []
        self.inboxes: list[Inbox] = []

    async def add(
        self, *, loss: float = 0.0, parameters: GossipParameters = PARAMETERS
    ) -> GossipEndpoint:
        inbox = Inbox()
        endpoint = await GossipEndpoint.open("127.0.0.1:0", 50, inbox.take, loss=loss, seed=1)
        contacts = tuple(each.address for each in self.endpoints[:1])
        endpoint.tell(JoinGossipGroup(parameters, contacts))
        self.endpoints.append(endpoint)
        self.inboxes.append(inbox)
        return endpoint


@pytest.fixture
async def group() -> AsyncIterator[Group]:
    made = Group()
    yield made
    for endpoint in made.endpoints:
        endpoint.close()


async def test_everybody_gets_an_event_once(group: Group) -> None:
    for _ in range(5):
        await group.add(loss=0.2)
    group.endpoints[2].tell(InGroup("g", PublishEvent(1, b"news")))
    others = [inbox for number, inbox in enumerate(group.inboxes) if number != 2]
    for inbox in others:
        await inbox.until(lambda inbox=inbox: bool(inbox.payloads))  # type: ignore[misc]
    assert [inbox.payloads for inbox in others] == [[b"news"]] * 4


async def test_a_garbled_datagram_is_counted_and_touches_nothing(
    group: Group, make_gossip: Callable[[bytes], Gossip]
) -> None:
    endpoint = await group.add()
    good = b"".join(encode(make_gossip(b"real")))
    garbled = bytearray(good)
    garbled[-9] ^= 0xFF
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for data in (b"", b"nonsense", bytes(garbled), good[:-8], good):
            stranger.sendto(data, parse_address(endpoint.address))
        await group.inboxes[0].until(lambda: bool(group.inboxes[0].payloads))
    assert group.inboxes[0].payloads == [b"real"]
    assert endpoint.malformed_datagrams == 4


@pytest.fixture
def make_gossip() -> Callable[..., Gossip]:
    def make(
        payload: bytes, *, origin: int = 5, sequence: int = 1, age: int = 0, header: Any = None
    ) -> Gossip:
        event = Event(event_id(origin, sequence), payload)
        return Gossip("g", "127.0.0.1:9", header, (event,), bytes([age]))

    return make


async def test_a_buffer_that_shrinks_while_running_is_heard_of_by_the_group(group: Group) -> None:
    first, second = await group.add(), await group.add()
    estimate = first.host.peers["g"].adaptation.minimum_buffer
    await turns_until(lambda: second.address in first.host.peers["g"].view)
    assert estimate.estimate == 50
    second.resize(20)
    await turns_until(lambda: estimate.estimate == 20)
    second.resize(40)
    await turns_until(lambda: estimate.estimate == 40)


async def test_a_peer_in_two_groups_divides_its_buffers_between_them(group: Group) -> None:
    first, second = await group.add(), await group.add()
    estimate = first.host.peers["g"].adaptation.minimum_buffer
    second.tell(JoinGossipGroup(msgspec.structs.replace(PARAMETERS, group="h"), ()))
    await turns_until(lambda: estimate.estimate == 25)
    second.tell(InGroup("h", Leave()))
    await turns_until(lambda: estimate.estimate == 50)


async def test_forged_ages_and_buffers_have_a_bounded_influence(
    group: Group, make_gossip: Callable[..., Gossip]
) -> None:
    """An age counts for at most 8 rounds more than was known, a buffer for at least 10 events."""
    endpoint = await group.add(parameters=SLOW)
    peer, inbox = endpoint.host.peers["g"], group.inboxes[0]
    header = peer._gossip()[0].header
    assert header is not None
    claims = (BufferClaim(0, 666), BufferClaim(1, 667))
    forged = msgspec.structs.replace(header, members=(), poorest=claims)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for gossip in (
            make_gossip(b"honest"),
            make_gossip(b"honest", age=255, header=forged),
            make_gossip(b"last", sequence=2),
        ):
            stranger.sendto(b"".join(encode(gossip)), parse_address(endpoint.address))
        await inbox.until(lambda: b"last" in inbox.payloads)
    assert peer.buffer.age(event_id(5, 1)) == SLOW.age_raise_limit
    assert [claim.events for claim in peer.adaptation.minimum_buffer.claims] == [10]
    peer.check_invariants()


async def test_a_flood_from_one_peer_leaves_the_others_heard(
    group: Group, make_gossip: Callable[..., Gossip]
) -> None:
    endpoint = await group.add(parameters=SLOW)
    inbox = group.inboxes[0]
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bad,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as good,
    ):
        for number in range(40):
            flood = make_gossip(b"flood", origin=666, sequence=number)
            bad.sendto(b"".join(encode(flood)), parse_address(endpoint.address))
        good.sendto(b"".join(encode(make_gossip(b"honest"))), parse_address(endpoint.address))
        await inbox.until(lambda: b"honest" in inbox.payloads)
    assert inbox.payloads == [b"flood"] * SLOW.datagrams_per_source + [b"honest"]
    assert endpoint.host.peers["g"].gate.refused_datagrams == 40 - SLOW.datagrams_per_source


async def test_values_nested_without_end_are_no_message(
    group: Group, make_gossip: Callable[..., Gossip]
) -> None:
    """A decoder that recurses for each level would otherwise raise in the event loop."""
    endpoint = await group.add()
    event = Event(event_id(5, 2), b"", {"deep": 0})
    shallow = msgspec.msgpack.encode(Gossip("g", "127.0.0.1:9", None, (event,), b"\x00"))
    head = shallow.replace(b"deep", b"deep" + b"\x91" * 50_000)
    padded = head + bytes(-len(head) & 7)
    preamble = PREAMBLE.pack(MAGIC, WIRE_VERSION, 0, len(head), len(padded))
    checksum = CHECKSUM.pack(xxh3_64_intdigest(preamble + padded))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for data in (preamble + checksum + padded, b"".join(encode(make_gossip(b"real")))):
            stranger.sendto(data, parse_address(endpoint.address))
        await group.inboxes[0].until(lambda: bool(group.inboxes[0].payloads))
    assert endpoint.malformed_datagrams == 1


async def test_a_member_whose_address_is_made_up_is_not_resolved(group: Group) -> None:
    endpoint = await group.add()
    before = endpoint.sent_datagrams
    endpoint._send("no.such.host.invalid:99", b"x")
    endpoint._send("no address at all", b"x")
    assert endpoint.sent_datagrams == before


async def test_leaving_makes_the_others_forget_at_once(group: Group) -> None:
    first, second = await group.add(), await group.add()
    view = first.host.peers["g"].view
    await turns_until(lambda: second.address in view)
    second.tell(InGroup("g", Leave()))
    await turns_until(lambda: second.address not in view)


async def test_a_question_from_elsewhere_is_not_answered(group: Group) -> None:
    endpoint = await group.add()
    sent: list[object] = []

    class Transport:
        def sendto(self, data: bytes, addr: object) -> None:
            sent.append(addr)

    real = endpoint._transport
    endpoint._transport = Transport()  # type: ignore[assignment]
    request = b"".join(encode(WhyRequest("g", 1)))
    endpoint.datagram_received(request, ("10.1.2.3", 9))
    assert sent == []
    endpoint.datagram_received(request, ("127.0.0.1", 9))
    assert sent == [("127.0.0.1", 9)]
    endpoint._transport = real


@pytest.mark.parametrize("text", ["", "host", "host:", "host:port", "host:99999", "1.2.3.4"])
def test_what_is_no_address_is_refused_in_words(text: str) -> None:
    with pytest.raises(ValueError, match="write host:port"):
        parse_address(text)


def test_addresses_are_written_as_they_are_read() -> None:
    assert parse_address(written_address("::1", 7)) == ("::1", 7)
    assert written_address("10.0.0.1", 7) == "10.0.0.1:7"

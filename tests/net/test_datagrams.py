"""Gossip over real sockets: groups find each other, garbage is dropped, strangers learn nothing."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable

import pytest

from penstock.content.wire import encode
from penstock.core.clock import MILLISECOND
from penstock.core.machine import Effect
from penstock.gossip.facts import DeliverEvents, InGroup, JoinGroup, Leave, Publish
from penstock.gossip.messages import Event, Gossip, WhyRequest, event_id
from penstock.gossip.parameters import GossipParameters
from penstock.net.datagrams import GossipEndpoint, parse_address, written_address

PARAMETERS = GossipParameters(group="g", gossip_period_ns=10 * MILLISECOND)
PATIENCE_S = 20.0


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

    async def add(self, *, loss: float = 0.0) -> GossipEndpoint:
        inbox = Inbox()
        endpoint = await GossipEndpoint.open("127.0.0.1:0", 50, inbox.take, loss=loss, seed=1)
        contacts = tuple(each.address for each in self.endpoints[:1])
        endpoint.tell(JoinGroup(PARAMETERS, contacts))
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
    group.endpoints[2].tell(InGroup("g", Publish(1, b"news")))
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
def make_gossip() -> Callable[[bytes], Gossip]:
    def make(payload: bytes) -> Gossip:
        return Gossip("g", "127.0.0.1:9", None, (Event(event_id(5, 1), payload),), b"\x00")

    return make


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

"""The peer: Figures 1 and 5 as facts in, orders out; bounds under bad input."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.content.codec.size import encoded_size
from penstock.core.clock import SECOND
from penstock.core.datagrams import DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Machine
from penstock.services.gossip.facts import (
    DeliverEvents,
    Leave,
    Meet,
    PublicationRefused,
    Published,
    PublishEvent,
    ResizeBuffer,
)
from penstock.services.gossip.messages import BufferClaim, Event, Gossip, Header, event_id
from penstock.services.gossip.parameters import AdaptationParameters, GossipParameters
from penstock.services.gossip.peer import Peer

MakeEvent = Callable[..., Event]
MakeGossip = Callable[..., Gossip]
MakeHeader = Callable[..., Header]


def peer(**changes: object) -> Peer:
    made = Peer("me", GossipParameters(**changes), 1, now=0)  # type: ignore[arg-type]
    made.handle(Meet(("a", "b", "c", "d", "e")), now=0)
    return made


def next_round(machine: Peer) -> list[SendDatagram]:
    """Pass the time until the machine has gossiped."""
    while True:
        deadline = machine.next_deadline()
        assert deadline is not None
        sent = machine.handle(DeadlineReached(), now=deadline)
        sends = [effect for effect in sent if isinstance(effect, SendDatagram)]
        if sends:
            return sends


def test_a_peer_is_a_machine() -> None:
    machine: Machine = peer()
    machine.check_invariants()


def test_a_round_goes_to_fanout_different_members_with_everything_held(
    make_event: MakeEvent, make_gossip: MakeGossip
) -> None:
    machine = peer()
    event = make_event(1)
    machine.handle(DatagramReceived("a", make_gossip((event, 2))), now=0)
    sends = next_round(machine)
    assert len({send.destination for send in sends}) == 4
    message = sends[0].message
    assert isinstance(message, Gossip)
    assert message.events == (event,)
    assert message.ages == bytes([3]), "a round older than it came"


def test_an_event_is_delivered_once(make_event: MakeEvent, make_gossip: MakeGossip) -> None:
    machine = peer()
    gossip = DatagramReceived("a", make_gossip((make_event(1), 0)))
    assert machine.handle(gossip, now=0) == [DeliverEvents((make_event(1),))]
    assert machine.handle(gossip, now=0) == []


def test_an_event_that_was_dropped_is_not_delivered_again(
    make_event: MakeEvent, make_gossip: MakeGossip
) -> None:
    machine = peer(buffer_events=1)
    for sequence in (1, 2):
        machine.handle(DatagramReceived("a", make_gossip((make_event(sequence), 3))), now=0)
    assert list(machine.buffer.events) == [event_id(7, 2)]
    again = DatagramReceived("a", make_gossip((make_event(1), 0)))
    assert machine.handle(again, now=0) == []


def test_an_older_copy_raises_the_age_by_a_bounded_amount(
    make_event: MakeEvent, make_gossip: MakeGossip
) -> None:
    machine = peer(age_raise_limit=8)
    for age, expected in ((2, 2), (1, 2), (5, 5), (255, 13)):
        machine.handle(DatagramReceived("a", make_gossip((make_event(1), age))), now=0)
        assert machine.buffer.age(event_id(7, 1)) == expected


def test_a_forged_huge_age_is_the_age_limit(make_event: MakeEvent, make_gossip: MakeGossip) -> None:
    machine = peer(age_limit=30)
    machine.handle(DatagramReceived("a", make_gossip((make_event(1), 255))), now=0)
    assert machine.buffer.age(event_id(7, 1)) == 30


def test_publications_wait_for_tokens() -> None:
    adaptation = AdaptationParameters(initial_rate_msgs_per_s=0.1)
    machine = peer(adaptation=adaptation, law="paper")
    effects: list[Effect] = []
    for token in range(7):
        effects += machine.handle(PublishEvent(token, b"x"), now=0)
    assert [type(effect) for effect in effects] == [Published] * 5, "the bucket begins half full"
    assert len(machine.waiting) == 2
    waited_until = machine.bucket.ready_at()
    assert waited_until == 10 * SECOND
    published = machine.handle(DeadlineReached(), now=waited_until)
    assert Published(5, event_id(machine.origin, 6)) in published


def test_without_adaptation_nothing_waits() -> None:
    machine = peer(law="none")
    for token in range(50):
        assert machine.handle(PublishEvent(token, b"x"), now=0) != []
    assert not machine.waiting


def test_too_many_publications_are_refused_with_the_rate() -> None:
    machine = peer(waiting_publications=3)
    effects = [effect for n in range(9) for effect in machine.handle(PublishEvent(n, b"x"), now=0)]
    refused = [effect for effect in effects if isinstance(effect, PublicationRefused)]
    assert [each.token for each in refused] == [8]
    assert "0.5 a second" in refused[0].reason


def test_an_event_that_fits_no_datagram_is_refused_and_the_largest_that_fits_is_sent() -> None:
    machine = peer(law="none", datagram_bytes=1400)
    refused = machine.handle(PublishEvent(1, bytes(1400)), now=0)
    assert isinstance(refused[0], PublicationRefused)
    assert "datagram" in refused[0].reason
    sizes = range(1100, 1400)
    largest = max(
        size
        for size in sizes
        if isinstance(machine.handle(PublishEvent(2, bytes(size)), now=0)[0], Published)
    )
    assert largest > 1150
    assert all(encoded_size(send.message) <= 1400 for send in next_round(machine))


def test_resizing_drops_the_oldest_at_once_and_tells_the_group(
    make_event: MakeEvent, make_gossip: MakeGossip
) -> None:
    machine = peer(buffer_events=60)
    pairs = [(make_event(number), number % 9) for number in range(60)]
    machine.handle(DatagramReceived("a", make_gossip(*pairs)), now=0)
    machine.handle(ResizeBuffer(20), now=0)
    assert len(machine.buffer) == 20
    header = next_round(machine)[0].message.header  # type: ignore[attr-defined]
    assert header.poorest == (BufferClaim(20, machine.origin),)


def test_the_age_of_would_be_drops_moves_the_average(
    make_event: MakeEvent, make_gossip: MakeGossip, make_header: MakeHeader
) -> None:
    machine = peer(buffer_events=90, law="paper")
    period = machine.adaptation.minimum_buffer.period
    poor = make_header(period=period, poorest=(BufferClaim(10, 3),))
    machine.handle(DatagramReceived("a", make_gossip(header=poor)), now=0)
    next_round(machine)
    next_round(machine)
    assert machine.adaptation.minimum_buffer.estimate == 10
    pairs = [(make_event(number), 2) for number in range(30)]
    machine.handle(DatagramReceived("a", make_gossip(*pairs)), now=0)
    assert machine.adaptation.average_age == pytest.approx(2.0, abs=0.1)
    assert len(machine.buffer) == 30


def test_leaving_says_farewell_and_refuses_what_waits() -> None:
    machine = peer(adaptation=AdaptationParameters(initial_rate_msgs_per_s=0.1))
    for token in range(6):
        machine.handle(PublishEvent(token, b"x"), now=0)
    effects = machine.handle(Leave(), now=0)
    refused = [effect for effect in effects if isinstance(effect, PublicationRefused)]
    assert [each.token for each in refused] == [5]
    farewells = [effect for effect in effects if isinstance(effect, SendDatagram)]
    assert farewells
    header = farewells[0].message.header  # type: ignore[attr-defined]
    assert "me" in header.departed
    assert "me" not in [member.address for member in header.members]
    assert machine.next_deadline() is None
    assert machine.handle(DeadlineReached(), now=SECOND) == []


def test_a_gossip_of_another_group_or_with_missing_ages_is_not_heard(
    make_event: MakeEvent, make_gossip: MakeGossip
) -> None:
    machine = peer()
    foreign = make_gossip((make_event(1), 0), group="another")
    assert machine.handle(DatagramReceived("a", foreign), now=0) == []
    ageless = Gossip("default", "a", None, (make_event(1),), b"")
    assert machine.handle(DatagramReceived("a", ageless), now=0) == []


def test_a_flood_from_one_peer_is_cut(make_event: MakeEvent, make_gossip: MakeGossip) -> None:
    machine = peer(datagrams_per_source=5, events_per_origin=10, buffer_events=20)
    delivered = 0
    for sequence in range(100):
        flood = DatagramReceived("bad", make_gossip((make_event(sequence, 666), 0)))
        for effect in machine.handle(flood, now=0):
            assert isinstance(effect, DeliverEvents)
            delivered += len(effect.events)
    assert delivered == 5
    honest = DatagramReceived("good", make_gossip((make_event(1, 5), 0)))
    assert machine.handle(honest, now=0) != []
    machine.check_invariants()


def test_a_late_driver_does_not_make_up_for_missed_rounds() -> None:
    machine = peer()
    late = 100 * 5 * SECOND
    machine.handle(DeadlineReached(), now=late)
    following = machine.next_deadline()
    assert following is not None
    assert late < following <= late + 5 * SECOND


def test_the_seed_decides_everything() -> None:
    first, second = peer(), peer()
    assert next_round(first) == next_round(second)
    assert Peer("me", GossipParameters(), 2, now=0).origin != first.origin

"""What a peer records of itself, and when."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.datagrams import DatagramReceived
from penstock.core.machine import DeadlineReached, Trace
from penstock.core.trace import TraceRecord
from penstock.services.gossip.facts import FromGroup, InGroup, JoinGossipGroup, Meet, PublishEvent
from penstock.services.gossip.host import GossipHost
from penstock.services.gossip.messages import Event, Gossip
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.peer import Peer
from penstock.services.gossip.telemetry import peer_records


def round_of(machine: Peer | GossipHost) -> list[TraceRecord]:
    """Pass the time until the next deadline; what is recorded then."""
    deadline = machine.next_deadline()
    assert deadline is not None
    effects = machine.handle(DeadlineReached(), now=deadline)
    return [effect.record for effect in effects if isinstance(effect, Trace)]


def test_a_round_records_every_quantity_once(
    make_event: Callable[..., Event], make_gossip: Callable[..., Gossip]
) -> None:
    peer = Peer("me", GossipParameters(group="g", buffer_events=2), 1, now=0)
    peer.handle(Meet(("a",)), now=0)
    peer.handle(PublishEvent(1, b"x"), now=0)
    pairs = [(make_event(number), 4) for number in range(3)]
    peer.handle(DatagramReceived("a", make_gossip(*pairs, group="g")), now=0)
    records = round_of(peer)
    assert {(record.node, record.subject) for record in records} == {("me", "g")}
    values = {record.metric: record.value for record in records}
    assert len(values) == len(records)
    assert values["published_messages"] == 1
    assert values["delivered_messages"] == 3
    assert values["dropped_events"] == 2
    assert values["dropped_event_ages"] == 8
    assert values["buffer_events"] == 2
    assert values["gossip_rounds"] == 1
    assert values["allowed_msgs_per_s"] == peer.adaptation.rate_msgs_per_s


def test_the_allowed_rate_says_what_decided_it() -> None:
    peer = Peer("me", GossipParameters(law="none"), 1, now=0)
    first = next(peer_records(peer, 7))
    assert first == TraceRecord(
        7, "me", "default", "allowed_msgs_per_s", 0.5, "nothing: this peer does not adapt its rate"
    )


@pytest.mark.parametrize(("every", "recorded"), [(0, 0), (1, 6), (3, 2)])
def test_rounds_are_recorded_as_often_as_was_asked_for(every: int, recorded: int) -> None:
    peer = Peer("me", GossipParameters(trace_every_rounds=every), 1, now=0)
    assert sum(bool(round_of(peer)) for _ in range(6)) == recorded


def test_a_process_hands_its_peers_records_on_as_they_are() -> None:
    host = GossipHost("me", 90, 1)
    host.handle(JoinGossipGroup(GossipParameters(group="g"), ()), now=0)
    published = host.handle(InGroup("g", PublishEvent(1, b"x")), now=0)
    assert all(isinstance(effect, FromGroup) for effect in published)
    assert {record.subject for record in round_of(host)} == {"g"}

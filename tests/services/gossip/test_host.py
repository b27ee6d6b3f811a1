"""Several groups in one process divide its buffers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.datagrams import DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached
from penstock.services.gossip.facts import (
    DeliverEvents,
    FromGroup,
    InGroup,
    JoinGossipGroup,
    Leave,
    Published,
    PublishEvent,
    ResizeBuffer,
)
from penstock.services.gossip.host import GossipHost, GroupRefused
from penstock.services.gossip.messages import Event, Gossip
from penstock.services.gossip.parameters import GossipParameters


def host(*groups: str, buffer_events: int = 90) -> GossipHost:
    made = GossipHost("me", buffer_events, 1)
    for group in groups:
        made.handle(JoinGossipGroup(GossipParameters(group=group), ("a",)), now=0)
        made.check_invariants()
    return made


def capacities(machine: GossipHost) -> list[int]:
    return [peer.buffer.capacity for peer in machine.peers.values()]


def test_groups_divide_the_buffers_and_give_them_back() -> None:
    machine = host("one", "two", "three")
    assert capacities(machine) == [30, 30, 30]
    machine.handle(InGroup("two", Leave()), now=0)
    assert capacities(machine) == [45, 45]
    machine.resize(60, now=0)
    assert capacities(machine) == [30, 30]
    machine.check_invariants()


def test_a_datagram_finds_its_group(
    make_event: Callable[..., Event], make_gossip: Callable[..., Gossip]
) -> None:
    machine = host("one", "two")
    event = make_event(1)
    fact = DatagramReceived("a", make_gossip((event, 0), group="two"))
    assert machine.handle(fact, now=0) == [FromGroup("two", DeliverEvents((event,)))]
    assert machine.handle(DatagramReceived("a", make_gossip(group="none")), now=0) == []


def test_every_group_has_its_own_rounds_and_publications() -> None:
    machine = host("one", "two")
    effects = machine.handle(InGroup("one", PublishEvent(1, b"x")), now=0)
    assert [effect.group for effect in effects if isinstance(effect, FromGroup)] == ["one"]
    assert isinstance(effects[0].effect, Published)  # type: ignore[attr-defined]
    groups = set()
    for _ in range(6):
        deadline = machine.next_deadline()
        assert deadline is not None
        for effect in machine.handle(DeadlineReached(), now=deadline):
            if isinstance(effect, SendDatagram) and isinstance(effect.message, Gossip):
                groups.add(effect.message.group)
    assert groups == {"one", "two"}


def test_what_cannot_be_done_is_refused_in_words() -> None:
    machine = host("one", buffer_events=1)
    with pytest.raises(GroupRefused, match="already"):
        machine.handle(JoinGossipGroup(GossipParameters(group="one"), ()), now=0)
    with pytest.raises(GroupRefused, match="none left"):
        machine.handle(JoinGossipGroup(GossipParameters(group="two"), ()), now=0)
    with pytest.raises(GroupRefused, match="join it first"):
        machine.handle(InGroup("two", Leave()), now=0)
    with pytest.raises(GroupRefused, match="resize the process"):
        machine.handle(InGroup("one", ResizeBuffer(5)), now=0)
    with pytest.raises(GroupRefused, match="too few"):
        machine.resize(0, now=0)

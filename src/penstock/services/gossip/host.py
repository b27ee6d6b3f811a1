"""A process that is a peer in several groups, at one address.

1. Every group is a ``Peer`` of its own; datagrams find it by the group's name.
2. The process has one store of events, and the groups divide it equally.  Whoever joins or leaves
   a group therefore resizes the others' buffers while they run, and the others' groups adapt.
3. A group never gets less than one event; the number of groups is bounded by the store.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.core.clock import Instant, earliest
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, InvariantBroken, Trace
from penstock.services.gossip.facts import FromGroup, InGroup, JoinGroup, Leave, Meet, ResizeBuffer
from penstock.services.gossip.messages import Gossip
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.peer import Peer


class GroupRefused(ValueError):
    """A group cannot be joined, and why."""


class GossipHost:
    """The machine that a process drives."""

    def __init__(self, address: Address, buffer_events: int, seed: int | str) -> None:
        """``buffer_events`` is the store that all groups share."""
        self.address = address
        self.peers: dict[str, Peer] = {}
        self._buffer_events = buffer_events
        self._seed = seed

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take one fact in and give the orders that follow from it."""
        if isinstance(fact, DatagramReceived):
            message = fact.message
            peer = self.peers.get(message.group) if isinstance(message, Gossip) else None
            return [] if peer is None else self._tell(peer, fact, now)
        if isinstance(fact, DeadlineReached):
            return list(self._deadline(now))
        if isinstance(fact, InGroup):
            return self._in_group(fact, now)
        if isinstance(fact, JoinGroup):
            return self._join(fact.parameters, fact.contacts, now)
        return []

    def next_deadline(self) -> Instant | None:
        """The earliest of the groups'."""
        return earliest(*(peer.next_deadline() for peer in self.peers.values()))

    def check_invariants(self) -> None:
        """The groups share no more than there is."""
        held = sum(peer.buffer.capacity for peer in self.peers.values())
        if held > self._buffer_events:
            raise InvariantBroken(f"{self.address}: the groups have more buffers than the process")
        for peer in self.peers.values():
            peer.check_invariants()

    def _join(
        self, parameters: GossipParameters, contacts: tuple[Address, ...], now: Instant
    ) -> list[Effect]:
        if parameters.group in self.peers:
            raise GroupRefused(f"{self.address} is in group {parameters.group!r} already")
        if len(self.peers) >= self._buffer_events:
            raise GroupRefused(
                f"{self.address} has {self._buffer_events} buffers for {len(self.peers)} groups, "
                f"and none left for {parameters.group!r}: give the process more"
            )
        peer = Peer(self.address, parameters, f"{self._seed}/{parameters.group}", now=now)
        self.peers[parameters.group] = peer
        return self._divide(now) + self._tell(peer, Meet(contacts), now)

    def _in_group(self, fact: InGroup, now: Instant) -> list[Effect]:
        peer = self.peers.get(fact.group)
        if peer is None:
            raise GroupRefused(f"{self.address} is not in group {fact.group!r}: join it first")
        if isinstance(fact.fact, ResizeBuffer):
            raise GroupRefused("the groups divide the process's buffers: resize the process")
        effects = self._tell(peer, fact.fact, now)
        if isinstance(fact.fact, Leave):
            del self.peers[fact.group]
            effects += self._divide(now)
        return effects

    def resize(self, buffer_events: int, *, now: Instant) -> list[Effect]:
        """The process has this much room for events from now on."""
        if buffer_events < max(1, len(self.peers)):
            raise GroupRefused(
                f"{buffer_events} buffers are too few for {len(self.peers)} groups: leave some"
            )
        self._buffer_events = buffer_events
        return self._divide(now)

    def _divide(self, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        if self.peers:
            share = self._buffer_events // len(self.peers)
            for peer in self.peers.values():
                if peer.buffer.capacity != share:
                    effects += self._tell(peer, ResizeBuffer(share), now)
        return effects

    def _deadline(self, now: Instant) -> Iterator[Effect]:
        for peer in list(self.peers.values()):
            due = peer.next_deadline()
            if due is not None and due <= now:
                yield from self._tell(peer, DeadlineReached(), now)

    def _tell(self, peer: Peer, fact: Fact, now: Instant) -> list[Effect]:
        group = peer.parameters.group
        return [
            effect if isinstance(effect, SendDatagram | Trace) else FromGroup(group, effect)
            for effect in peer.handle(fact, now=now)
        ]

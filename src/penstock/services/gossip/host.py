"""A process that is a peer in several groups, at one address.

1. Every group has a ``Peer`` of its own; a datagram names the group that it is for.
2. The groups divide the process's event buffers equally.  Joining or leaving a group therefore
   resizes the buffers of the other groups while they run, and those groups adapt.
3. Each group gets at least one buffer, so the number of groups is bounded by the buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.core.clock import Instant, earliest
from penstock.core.datagrams import Address, DatagramReceived, SendDatagram
from penstock.core.machine import DeadlineReached, Effect, Fact, InvariantBroken, Trace
from penstock.services.gossip.facts import (
    FromGroup,
    InGroup,
    JoinGossipGroup,
    Leave,
    Meet,
    ResizeBuffer,
)
from penstock.services.gossip.messages import Gossip
from penstock.services.gossip.peer import Peer

OnFact = Callable[[Any, Instant], list[Effect]]


class GroupRefused(ValueError):
    """A request about a group is refused; the text says why."""


class GossipHost:
    """The machine that a process drives."""

    def __init__(self, address: Address, buffer_events: int, seed: int | str) -> None:
        """``buffer_events`` are divided among all groups."""
        self.address = address
        self.peers: dict[str, Peer] = {}
        self._buffer_events = buffer_events
        self._seed = seed
        self._on: dict[type[Fact], OnFact] = {
            DatagramReceived: self._received,
            DeadlineReached: self._deadline,
            InGroup: self._in_group,
            JoinGossipGroup: self._join,
        }

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take in one fact and return the effects that follow from it."""
        on_fact = self._on.get(type(fact))
        return [] if on_fact is None else on_fact(fact, now)

    def _received(self, fact: DatagramReceived, now: Instant) -> list[Effect]:
        message = fact.message
        peer = self.peers.get(message.group) if isinstance(message, Gossip) else None
        return [] if peer is None else self._tell(peer, fact, now)

    def next_deadline(self) -> Instant | None:
        """The earliest deadline of any group."""
        return earliest(*(peer.next_deadline() for peer in self.peers.values()))

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the groups have more buffers than the process."""
        held = sum(peer.buffer.capacity for peer in self.peers.values())
        if held > self._buffer_events:
            raise InvariantBroken(f"{self.address}: the groups have more buffers than the process")
        for peer in self.peers.values():
            peer.check_invariants()

    def _join(self, fact: JoinGossipGroup, now: Instant) -> list[Effect]:
        parameters = fact.parameters
        if parameters.group in self.peers:
            raise GroupRefused(f"{self.address} is in group {parameters.group!r} already")
        if len(self.peers) >= self._buffer_events:
            raise GroupRefused(
                f"{self.address} has {self._buffer_events} buffers for {len(self.peers)} groups, "
                f"and none left for {parameters.group!r}: give the process more"
            )
        peer = Peer(self.address, parameters, f"{self._seed}/{parameters.group}", now=now)
        self.peers[parameters.group] = peer
        return self._divide(now) + self._tell(peer, Meet(fact.contacts), now)

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
        """Change the number of events that the process keeps for all its groups."""
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

    def _deadline(self, fact: DeadlineReached, now: Instant) -> list[Effect]:
        effects: list[Effect] = []
        for peer in list(self.peers.values()):
            due = peer.next_deadline()
            if due is not None and due <= now:
                effects += self._tell(peer, fact, now)
        return effects

    def _tell(self, peer: Peer, fact: Fact, now: Instant) -> list[Effect]:
        group = peer.parameters.group
        return [
            effect if isinstance(effect, SendDatagram | Trace) else FromGroup(group, effect)
            for effect in peer.handle(fact, now=now)
        ]

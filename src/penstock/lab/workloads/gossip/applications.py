"""A gossip peer of a run over the network: a process's gossip on a UDP socket of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from penstock.client.gossip.endpoint import GossipEndpoint
from penstock.core.clock import Instant, in_seconds
from penstock.core.datagrams import Address
from penstock.core.machine import Effect
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.service import NetStage
from penstock.lab.workloads.gossip.life import PeerLife, begun_life
from penstock.lab.workloads.gossip.tables import GossipPeer
from penstock.net.wall_clock import WallClock
from penstock.services.gossip.facts import InGroup, JoinGossipGroup, Leave, ResizeBuffer

LISTEN: Final = "127.0.0.1:0"

OPEN_WITHIN_S: Final = 30.0
"""How long the peers that start together wait for each other's sockets."""

ADDRESSES: Final = "addresses"
"""Where the clients of a run find each other's addresses."""


class Addresses:
    """Where the peers of a run listen, by client."""

    def __init__(self) -> None:
        self._known: dict[str, Address] = {}
        self._changed = asyncio.Condition()

    async def set(self, name: str, address: Address) -> None:
        async with self._changed:
            self._known[name] = address
            self._changed.notify_all()

    async def of(self, names: Iterable[str]) -> tuple[Address, ...]:
        """The addresses of these peers; waits until all of them listen."""
        names = tuple(names)
        async with asyncio.timeout(OPEN_WITHIN_S), self._changed:
            await self._changed.wait_for(lambda: all(name in self._known for name in names))
        return tuple(self._known[name] for name in names)


class PeerApplication:
    """A peer with a socket of its own, and the application on it."""

    def __init__(self, client: GossipPeer, history: GossipHistory, stage: NetStage) -> None:
        """Nothing happens before ``run``."""
        self._client = client
        self._history = history
        self._stage = stage
        self._present = asyncio.Event()
        self._present.set()
        self._away = asyncio.Event()

    def leave(self) -> None:
        """Stop, and say goodbye unless the peer is to vanish."""
        self._present.clear()
        self._away.set()

    def come_back(self) -> None:
        """Start again."""
        self._away.clear()
        self._present.set()

    async def run(self) -> None:
        """Gossip until cancelled, but for the times away."""
        clock = WallClock()
        while True:
            await self._present.wait()
            stage = msgspec.structs.replace(self._stage, now=clock.now())
            life = begun_life(self._client, self._history, stage)
            await LivePeer(self._client, life, stage, clock).run(self._away)


class LivePeer:
    """A peer from one start to the next stop."""

    def __init__(
        self, client: GossipPeer, life: PeerLife, stage: NetStage, clock: WallClock
    ) -> None:
        self._client = client
        self._life = life
        self._stage = stage
        self._clock = clock
        self._group = life.parameters.group
        self._endpoint: GossipEndpoint

    async def run(self, away: asyncio.Event) -> None:
        """Gossip until cancelled or away."""
        client, life, stage = self._client, self._life, self._stage
        self._endpoint = await GossipEndpoint.open(
            LISTEN,
            life.parameters.buffer_events,
            self._saw,
            seed=f"{life.seed}/{client.name}",
            loss=stage.scenario.peer_network.loss,
            on_trace=self._record,
        )
        try:
            addresses: Addresses = stage.shared.setdefault(ADDRESSES, Addresses())
            await addresses.set(client.name, self._endpoint.address)
            contacts = await addresses.of(life.contacts)
            self._endpoint.tell(JoinGossipGroup(life.parameters, contacts))
            await self._work(away)
        finally:
            self._stop()

    async def _work(self, away: asyncio.Event) -> None:
        """Offer and resize when it is due."""
        while not away.is_set():
            due_at = self._life.program.next_deadline()
            wait_s = None if due_at is None else in_seconds(due_at - self._clock.now())
            with suppress(TimeoutError):
                await asyncio.wait_for(away.wait(), wait_s)
            self._do_what_is_due(self._clock.now())

    def _do_what_is_due(self, now: Instant) -> None:
        while (fact := self._life.program.next_fact(now=now)) is not None:
            if isinstance(fact, ResizeBuffer):
                self._endpoint.resize(fact.events)
            else:
                self._endpoint.tell(InGroup(self._group, fact))

    def _stop(self) -> None:
        if self._client.stops == "leave" and self._group in self._endpoint.host.peers:
            self._endpoint.tell(InGroup(self._group, Leave()))
        self._life.program.history.stop(now=self._clock.now())
        self._endpoint.close()

    def _saw(self, group: str, effect: Effect) -> None:
        self._life.program.saw(effect, now=self._clock.now())

    def _record(self, records: list[TraceRecord]) -> None:
        """Record under the client's name, as in the simulated world, not under the address."""
        for record in records:
            named = msgspec.structs.replace(record, node=self._client.name)
            self._stage.record(named)
            skipped = self._life.rounds.skipped(named)
            if skipped is not None:
                self._stage.record(skipped)

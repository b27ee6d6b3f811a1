"""A gossip group over UDP on loopback: as many sockets as peers, and one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from statistics import median

import uvloop

from penstock.client.gossip.endpoint import GossipEndpoint
from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.core.randomness import random_stream
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.net.wall_clock import WallClock
from penstock.papers.adaptive_gossip.group import BLOCKED_AT, CONTACTS
from penstock.papers.adaptive_gossip.measure import DeliveryBook, GroupRecords, measured
from penstock.papers.adaptive_gossip.scenario import GossipResult, GossipScenario
from penstock.services.gossip.facts import (
    DeliverEvents,
    InGroup,
    JoinGossipGroup,
    Leave,
    Published,
    PublishEvent,
)
from penstock.services.gossip.telemetry import ROUNDS


class LiveGroup:
    """One run of one scenario over UDP."""

    def __init__(
        self, scenario: GossipScenario, seed: int, telemetry: Telemetry | None = None
    ) -> None:
        self.scenario = scenario
        self.seed = seed
        self.endpoints: dict[str, GossipEndpoint] = {}
        self.telemetry = telemetry or Telemetry()
        self.book = DeliveryBook()
        self._random = random_stream(seed, "live")
        self._payload = bytes(scenario.payload_bytes)
        self._group = scenario.parameters.group
        self._senders: dict[str, None] = {}
        self._sender_addresses: set[str] = set()
        self._started_s = 0.0
        self._started_at: Instant = 0
        self._handles: dict[str, asyncio.TimerHandle] = {}

    async def run(self, progress: Callable[[float], None]) -> GossipResult:
        """Run all rounds in real time; ``progress`` receives the current second."""
        scenario, loop = self.scenario, asyncio.get_running_loop()
        try:
            await self._open_all()
            self._started_s, self._started_at = loop.time(), WallClock().now()
            for round_number in range(scenario.rounds):
                self._happen(round_number)
                if self._is_churn_round(round_number):
                    await self._replace(round_number)
                end_s = self._started_s + (round_number + 1) * scenario.period_s
                await asyncio.sleep(max(0.0, end_s - loop.time()))
                progress(end_s - self._started_s)
        finally:
            self._close_all()
        records = GroupRecords(self.telemetry, self._sender_addresses, self._started_at)
        return measured(scenario, self.seed, self.book, records)

    @property
    def rounds_kept(self) -> float:
        """The share of its rounds that the median peer ran.

        A busy machine skips rounds, and a group that skips rounds carries less per round.
        """
        rounds = self.telemetry.series(ROUNDS, subject=self._group).values()
        return median(points[-1][1] for points in rounds) / self.scenario.rounds

    # -- the group --------------------------------------------------------------------------

    async def _open_all(self) -> None:
        for number in range(self.scenario.peers):
            await self._open(f"p{number}")
        addresses = [endpoint.address for endpoint in self.endpoints.values()]
        view = min(self.scenario.parameters.view_size, len(addresses))
        for endpoint in self.endpoints.values():
            contacts = tuple(self._random.sample(addresses, view))
            endpoint.tell(JoinGossipGroup(self.scenario.parameters, contacts))
        self._senders = dict.fromkeys(list(self.endpoints)[: self.scenario.sender_count])
        for name in self._senders:
            self._start_offering(name)

    async def _open(self, name: str) -> GossipEndpoint:
        endpoint = await GossipEndpoint.open(
            "127.0.0.1:0",
            self.scenario.parameters.buffer_events,
            self._application,
            seed=f"{self.seed}/{name}",
            loss=self.scenario.loss,
            on_trace=self.telemetry.extend,
        )
        self.endpoints[name] = endpoint
        return endpoint

    def _close_all(self) -> None:
        for handle in self._handles.values():
            handle.cancel()
        for endpoint in self.endpoints.values():
            endpoint.close()

    def _happen(self, round_number: int) -> None:
        for change in self.scenario.changes:
            if change.at_round == round_number:
                count = round(change.share * len(self.endpoints))
                for name in list(self.endpoints)[:count]:
                    self.endpoints[name].resize(change.buffer_events)

    def _is_churn_round(self, round_number: int) -> bool:
        churn = self.scenario.churn
        if churn is None or not churn.from_round <= round_number < churn.to_round:
            return False
        count = round(churn.share * self.scenario.peers)
        every = max(1, (churn.to_round - churn.from_round) // max(1, count))
        return count > 0 and (round_number - churn.from_round) % every == 0

    async def _replace(self, round_number: int) -> None:
        leaver = self._random.choice(list(self.endpoints))
        endpoint = self.endpoints.pop(leaver)
        if leaver in self._handles:
            self._handles.pop(leaver).cancel()
        if round_number % 2 == 0:
            endpoint.tell(InGroup(self._group, Leave()))
        endpoint.close()
        others = [each.address for each in self.endpoints.values()]
        newcomer = await self._open(f"n{round_number}")
        contacts = tuple(self._random.sample(others, CONTACTS))
        newcomer.tell(JoinGossipGroup(self.scenario.parameters, contacts))
        if leaver in self._senders:
            self._senders[f"n{round_number}"] = None
            self._start_offering(f"n{round_number}")

    # -- the application --------------------------------------------------------------------

    def _application(self, group: str, effect: Effect) -> None:
        if isinstance(effect, DeliverEvents):
            self.book.delivered(effect.events)
        elif isinstance(effect, Published):
            elapsed_s = asyncio.get_running_loop().time() - self._started_s
            round_number = int(elapsed_s / self.scenario.period_s) if self._started_s else 0
            in_run = min(round_number, self.scenario.rounds)
            self.book.published(effect.id, in_run, len(self.endpoints))

    def _start_offering(self, name: str) -> None:
        self._sender_addresses.add(self.endpoints[name].address)
        interval_s = self.scenario.sender_count / self.scenario.offered_msgs_per_s
        loop = asyncio.get_running_loop()
        self._schedule(name, loop.time() + self._random.random() * interval_s, interval_s)

    def _schedule(self, name: str, at_s: float, interval_s: float) -> None:
        loop = asyncio.get_running_loop()
        self._handles[name] = loop.call_at(at_s, self._offer, name, at_s, interval_s)

    def _offer(self, name: str, at_s: float, interval_s: float) -> None:
        endpoint = self.endpoints[name]
        if len(endpoint.host.peers[self._group].waiting) < BLOCKED_AT:
            endpoint.tell(InGroup(self._group, PublishEvent(0, self._payload)))
        self._schedule(name, at_s + interval_s, interval_s)


def run_group(
    group: LiveGroup, progress: Callable[[float], None] = lambda at_s: None
) -> GossipResult:
    """One run over UDP on this machine."""
    return uvloop.run(group.run(progress))

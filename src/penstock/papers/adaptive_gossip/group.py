"""A gossip group in virtual time: the machines, their senders, and the scenario's changes."""

from __future__ import annotations

from collections.abc import Callable

from penstock.core.clock import SECOND, Instant
from penstock.core.datagrams import Address
from penstock.core.machine import Effect, Trace
from penstock.core.randomness import random_stream
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.adaptive_gossip.measure import DeliveryBook, GroupRecords, measured
from penstock.papers.adaptive_gossip.scenario import BufferChange, GossipResult, GossipScenario
from penstock.services.gossip.facts import (
    DeliverEvents,
    Leave,
    Meet,
    Published,
    PublishEvent,
    ResizeBuffer,
)
from penstock.services.gossip.peer import Peer
from penstock.sim.datagram_network import DatagramModel, DatagramNetwork
from penstock.sim.scheduler import Scheduler
from penstock.sim.world import EPOCH

CONTACTS = 3
"""How many members a peer knows when it joins."""

BLOCKED_AT = 2
"""A sender with this many waiting publications offers no more: it is blocked (Figure 3)."""


class SimulatedGroup:
    """One run of one scenario with one seed."""

    def __init__(
        self,
        scenario: GossipScenario,
        seed: int,
        telemetry: Telemetry | None = None,
        *,
        checked: bool = False,
    ) -> None:
        """All peers exist from the beginning, and know a random part of the group."""
        self.scenario = scenario
        self.seed = seed
        self.telemetry = telemetry or Telemetry()
        self.scheduler = Scheduler(EPOCH)
        model = DatagramModel(loss=scenario.loss)
        self.network = DatagramNetwork(
            model, seed, self.scheduler, self._application, checked=checked
        )
        self.peers: dict[Address, Peer] = {}
        self.book = DeliveryBook()
        self._random = random_stream(seed, "workload")
        self._payload = bytes(scenario.payload_bytes)
        names = [f"p{number}" for number in range(scenario.peers)]
        for name in names:
            view = self._random.sample(names, min(len(names), scenario.parameters.view_size))
            self._join(name, tuple(view))
        self._senders = dict.fromkeys(names[: scenario.sender_count])
        for name in self._senders:
            self._start_offering(name)

    def run(self, progress: Callable[[float], None] = lambda at_s: None) -> GossipResult:
        """Run all rounds; ``progress`` receives the current second."""
        scenario, period = self.scenario, self.scenario.parameters.gossip_period_ns
        for change in scenario.changes:
            self.scheduler.at(EPOCH + change.at_round * period, self._change, change)
        self._plan_churn(period)
        for round_number in range(scenario.rounds):
            self.scheduler.run_until(EPOCH + (round_number + 1) * period)
            progress((round_number + 1) * scenario.period_s)
        records = GroupRecords(self.telemetry, self._senders, EPOCH)
        return measured(scenario, self.seed, self.book, records)

    # -- the application --------------------------------------------------------------------

    def _application(self, address: Address, effect: Effect, now: Instant) -> None:
        if type(effect) is DeliverEvents:
            self.book.delivered(effect.events)
        elif type(effect) is Trace:
            self.telemetry.add(effect.record)
        elif type(effect) is Published:
            round_number = (now - EPOCH) // self.scenario.parameters.gossip_period_ns
            self.book.published(effect.id, round_number, len(self.peers))

    def _start_offering(self, name: Address) -> None:
        interval = round(SECOND * self.scenario.sender_count / self.scenario.offered_msgs_per_s)
        phase = self._random.randrange(interval)
        self.scheduler.at(self.scheduler.now + phase, self._offer, name, interval)

    def _offer(self, name: Address, interval: int) -> None:
        peer = self.peers.get(name)
        if peer is None:
            return
        if len(peer.waiting) < BLOCKED_AT:
            self.network.tell(name, PublishEvent(0, self._payload))
        self.scheduler.at(self.scheduler.now + interval, self._offer, name, interval)

    # -- what happens to the group ----------------------------------------------------------

    def _join(self, name: Address, contacts: tuple[Address, ...]) -> None:
        peer = Peer(name, self.scenario.parameters, self.seed, now=self.scheduler.now)
        self.peers[name] = peer
        self.network.add(name, peer)
        self.network.tell(name, Meet(contacts))

    def _change(self, change: BufferChange) -> None:
        count = round(change.share * len(self.peers))
        for name in list(self.peers)[:count]:
            self.network.tell(name, ResizeBuffer(change.buffer_events))

    def _plan_churn(self, period: int) -> None:
        churn = self.scenario.churn
        if churn is None:
            return
        count = round(churn.share * self.scenario.peers)
        span = (churn.to_round - churn.from_round) * period
        for number in range(count):
            at = EPOCH + churn.from_round * period + span * number // count
            self.scheduler.at(at, self._replace, number)

    def _replace(self, number: int) -> None:
        leaver = self._random.choice(list(self.peers))
        if number % 2 == 0:
            self.network.tell(leaver, Leave())
        self.network.remove(leaver)
        del self.peers[leaver]
        contacts = tuple(self._random.sample(list(self.peers), CONTACTS))
        newcomer = f"n{number}"
        self._join(newcomer, contacts)
        if leaver in self._senders:
            self._senders[newcomer] = None
            self._start_offering(newcomer)


def simulate(scenario: GossipScenario, seed: int) -> GossipResult:
    """One run in virtual time."""
    return SimulatedGroup(scenario, seed).run()

"""The flow control of thousands of multicast senders, as arrays.

The broker machines are the protocol; this is its flow control alone, with the same policy functions
and the same record for each link, for networks that are too large to simulate broker by broker.
Its simplifications:

1. No membership, acknowledgements and retransmission: trees are given, and nothing is lost.
2. Senders act in steps of ``STEP_S``.
3. Prices reach a sender after the latency of the path to it, and use no bandwidth.
4. Only links that the senders can congest are modelled, and the first link of a sender's broker,
   which spaces packets that are bought at once; the others add their latency.

docs/papers/cost-benefit.md shows how close both come where both can run, and so does a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import SECOND, seconds
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.lab.arrays.multicast.accounts import STEP_S, Flags, Floats, chosen_accounts
from penstock.lab.arrays.multicast.history import ArrayHistory
from penstock.lab.arrays.multicast.links import ArrayLink, Packet
from penstock.lab.arrays.multicast.plan import ArrayPlan
from penstock.lab.arrays.multicast.routes import NOWHERE
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Client, Fault, Link, LinkChange, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.world import UnsupportedHere
from penstock.services.multicast.laws.choice import chosen_law
from penstock.sim.world import EPOCH


class ArrayWorld:
    """One run of one scenario with one seed."""

    name = "arrays"

    def __init__(self, scenario: Scenario, seed: int, telemetry: Telemetry) -> None:
        """Raises ``ScenarioError`` if arrays cannot run the scenario."""
        self.scenario = expanded(scenario, seed)
        self.seed = seed
        self.telemetry = telemetry
        self._plan = plan = ArrayPlan(self.scenario)
        self._history = ArrayHistory(plan.names)
        self.histories: dict[str, ArrayHistory] = {"multicast": self._history}
        law = chosen_law(plan.parameters, random_stream(seed, "accounts"))
        self.links = [ArrayLink(each, plan.packet_bytes, law.price_link(0)) for each in plan.narrow]
        self._by_ends = {tuple(each.name.split("->")): each for each in self.links}
        round_trip_s = np.array([each.round_trip_s for each in plan.routes])[plan.route_of]
        random = np.random.default_rng(seed)
        self._accounts = chosen_accounts(plan.parameters, plan.weights, round_trip_s, random)
        self._price: Floats = np.zeros(len(plan.names))
        self._active: Flags = np.zeros(len(plan.names), np.bool_)
        shape = (len(plan.routes), len(self.links))
        self._access_free_s = [0.0] * len(plan.routes)
        self._known: Floats = np.zeros(shape)
        self._known_sequence: NDArray[np.int64] = np.zeros(shape, np.int64)
        self._on_tree: Floats = np.zeros(shape)
        self._listeners: list[dict[float, list[int]]] = [{} for _ in self.links]
        for number, route in enumerate(plan.routes):
            for (link, _, _), delay_s in zip(route.links, route.delays_s, strict=True):
                self._on_tree[number, link] = 1.0
                self._listeners[link].setdefault(delay_s, []).append(number)
        self._events: list[tuple[float, int, Any, tuple[Any, ...]]] = []
        self._serial = count()
        self._steps = 0
        self._now_s = 0.0

    # -- the timeline -----------------------------------------------------------------------

    def open(self) -> None:
        """Price the links from now on, and measure them."""
        update_s = self._plan.parameters.update_min_ns / SECOND
        self._at(update_s, self._update, update_s)
        self._measure(self.scenario.trace_interval_s)

    def run_until(self, at_s: float) -> None:
        """Do all whole steps up to a second."""
        last = int(at_s / STEP_S + 1e-6)
        while self._steps < last:
            self._steps += 1
            self._step(self._steps * STEP_S)

    def start_client(self, client: Client, stop_s: float) -> None:
        """Let a sender begin; members only decide where packets go."""
        sender = self._plan.numbers.get(client.name)
        if sender is not None:
            now_s = client.start_s
            self._active[sender] = True
            self._accounts.start(sender, now_s)
            self._at(stop_s, self._stop, sender)

    def stop_client(self, client: Client) -> None:
        """Senders are stopped at their time; members do not count."""

    def start_broker(self, broker: str) -> None:
        raise UnsupportedHere(f"broker {broker!r}: in arrays every broker is there from the start")

    def change_link(self, link: Link, change: LinkChange) -> None:
        """Change the bandwidth of a link."""
        if (change.latency_ms, change.jitter_ms, change.loss) != (None, None, None):
            raise UnsupportedHere("arrays change only the bandwidth of links; use --world sim")
        if change.bandwidth_bytes_per_s is not None:
            self._set_bandwidth(link.between, change.bandwidth_bytes_per_s)

    def strike(self, fault: Fault) -> None:
        """Change the bandwidth of a link; nothing else can be done."""
        if fault.bandwidth is None:
            raise UnsupportedHere(f"arrays have no fault {fault.kinds[0]!r}; use --world sim")
        self._set_bandwidth(fault.bandwidth.link, fault.bandwidth.bytes_per_s)

    def _set_bandwidth(self, between: tuple[str, str], bytes_per_s: int) -> None:
        ends = [between, (between[1], between[0])]
        modelled = [self._by_ends[each] for each in ends if each in self._by_ends]
        if not modelled or not bytes_per_s:
            raise UnsupportedHere(
                f"link {'-'.join(between)}: arrays change only links that can be congested; give "
                "it less bandwidth than the widest link"
            )
        for link in modelled:
            link.set_bandwidth(bytes_per_s)

    def close(self) -> None:
        """Nothing runs."""
        self.telemetry.close()

    def result(self, judgements: Mapping[str, Judgement] | None = None) -> RunResult:
        """The result of the run."""
        return RunResult(
            self.scenario,
            self.name,
            self.seed,
            EPOCH,
            EPOCH + seconds(self._now_s),
            self.histories,
            {name: each.judge() for name, each in self.histories.items()},
            self.telemetry,
        )

    # -- time -------------------------------------------------------------------------------

    def _at(self, at_s: float, what: Any, *arguments: Any) -> None:
        heappush(self._events, (at_s, next(self._serial), what, arguments))

    def _step(self, now_s: float) -> None:
        while self._events and self._events[0][0] <= now_s:
            self._now_s, _, what, arguments = heappop(self._events)
            what(*arguments)
        self._now_s = now_s
        for sender in self._accounts.step(self._price, self._active, now_s).tolist():
            self._send(sender)

    def _stop(self, sender: int) -> None:
        self._active[sender] = False

    def _measure(self, every_s: float) -> None:
        at = EPOCH + seconds(self._now_s)
        for link in self.links:
            for metric, value in link.statistics():
                self.telemetry.add(TraceRecord(at, link.node, link.name, metric, value))
        self._at(self._now_s + every_s, self._measure, every_s)

    # -- packets ----------------------------------------------------------------------------

    def _send(self, sender: int) -> None:
        number = int(self._plan.route_of[sender])
        self._history.sent(sender, EPOCH + seconds(self._now_s))
        paid = self._accounts.paid_by(sender) * float(self._plan.worth[sender])
        packet = Packet(number, paid, self._named(number))
        route = self._plan.routes[number]
        leaves_s = max(self._now_s, self._access_free_s[number])
        self._access_free_s[number] = leaves_s + route.access_s
        for link, parent, before_s in route.links:
            if parent == NOWHERE:
                self._at(leaves_s + before_s, self._arrive, link, packet)

    def _named(self, route: int) -> dict[int, int]:
        """The number of the price that is known at the sender, by link of a route."""
        priced = np.flatnonzero(self._known[route] * self._on_tree[route] > 0)
        sequences = self._known_sequence[route, priced]
        return dict(zip(priced.tolist(), sequences.tolist(), strict=True))

    def _arrive(self, index: int, packet: Packet) -> None:
        link = self.links[index]
        link.record.arrived(1.0, packet.paid, packet.named.get(index), seconds(self._now_s))
        if link.busy:
            link.put(packet)
        else:
            self._transmit(link, index, packet)

    def _transmit(self, link: ArrayLink, index: int, packet: Packet) -> None:
        link.busy = True
        self._at(self._now_s + 1 / link.packets_per_s, self._transmitted, index, packet)

    def _transmitted(self, index: int, packet: Packet) -> None:
        link = self.links[index]
        link.sent_packets += 1
        for child, parent, before_s in self._plan.routes[packet.route].links:
            if parent == index:
                self._at(self._now_s + link.latency_s + before_s, self._arrive, child, packet)
        link.busy = False
        if link.queue:
            self._transmit(link, index, link.queue.popleft())

    # -- prices -----------------------------------------------------------------------------

    def _update(self, every_s: float) -> None:
        """Update the price of every link, as the brokers do."""
        now = seconds(self._now_s)
        for index, link in enumerate(self.links):
            before = link.price
            link.price = link.record.update(link.buffered, now)
            if link.price > 0 or before > 0:
                link.sequence += 1
                link.record.issued(link.sequence, now)
                for delay_s, routes in self._listeners[index].items():
                    told = (index, routes, link.price, link.sequence)
                    self._at(self._now_s + delay_s, self._told, *told)
        self._at(self._now_s + every_s, self._update, every_s)

    def _told(self, index: int, routes: list[int], price: float, sequence: int) -> None:
        self._known[routes, index] = price
        self._known_sequence[routes, index] = sequence
        of_tree = (self._known * self._on_tree).sum(axis=1)[self._plan.route_of]
        self._price = of_tree / self._plan.worth
        self._accounts.price_changed(self._price)

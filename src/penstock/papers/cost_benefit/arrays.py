"""The flow control of thousands of multicast senders, as arrays.

The broker machines are the protocol; this is its flow control alone, with the same policy functions
and the same record for each link, for networks that are too large to simulate broker by broker.
Its simplifications:

1. No membership, acknowledgements and retransmission: trees are given, and nothing is lost.
2. Senders act in steps of ``STEP_S``.
3. Prices reach a sender after the latency of the path to it, and use no bandwidth.
4. Only links that the senders can congest are modelled, and the first link of a sender's broker,
   which spaces packets that are bought at once; the others add their latency.

docs/papers/cost-benefit.md shows how close both come where both can run.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import SECOND, seconds
from penstock.core.randomness import random_stream
from penstock.papers.cost_benefit.result import MulticastResult, Sampler
from penstock.papers.cost_benefit.routes import NOWHERE, Route, narrow_routes
from penstock.papers.cost_benefit.scenario import (
    UNACKNOWLEDGED_PACKETS,
    LinkPlan,
    MulticastScenario,
)
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at
from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.laws.law import LinkPrice
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import MulticastParameters

Floats = NDArray[np.float64]

STEP_S: Final = 0.001


class ArrayLink:
    """One direction of a link: a queue, a rate, a price."""

    def __init__(self, plan: LinkPlan, name: str, record: LinkPrice) -> None:
        self.name = name
        self.latency_s = plan.latency_ms / 1000
        self.queue: deque[tuple[int, float, int]] = deque()
        self.busy = False
        self.set_rate(plan.packets_per_s)
        self.record = record
        self.sequence = 0
        self.price = 0.0
        self.told_at_s = -1e9

    def set_rate(self, packets_per_s: float) -> None:
        """Change the link's rate."""
        self.packets_per_s = packets_per_s
        in_flight = round(2 * self.latency_s * packets_per_s)
        self.free_packets = max(0, UNACKNOWLEDGED_PACKETS - in_flight)

    @property
    def buffered(self) -> int:
        """Packets that wait above what the link itself accepts."""
        return max(0, len(self.queue) - self.free_packets)


class ArraySenders:
    """The accounts of all clients, and what they send in a step."""

    def __init__(
        self,
        scenario: MulticastScenario,
        parameters: MulticastParameters,
        routes: list[Route],
        seed: int,
    ) -> None:
        self.parameters = parameters
        self.random = np.random.default_rng(seed)
        plans = [(i, each) for i, each in enumerate(scenario.senders) for _ in range(each.clients)]
        self.plan = np.array([i for i, _ in plans])
        number = len(plans)
        spread = self.random.random(number) * scenario.start_spread_s
        self.start_s: Floats = np.array([each.start_s for _, each in plans]) + spread
        self.weight: Floats = np.array([each.weight for _, each in plans])
        self.price: Floats = np.zeros(number)
        law = parameters.paper
        self.savings: Floats = np.zeros(number)
        self.period_ns: Floats = np.full(number, float(law.longest_period_ns))
        self.payday_s: Floats = self.start_s + self.random.random(number) * self.period_ns / SECOND
        self.blocked = np.zeros(number, np.bool_)
        self.dearest: Floats = np.zeros(number)
        self.draw_again_s: Floats = np.zeros(number)
        self.lost_at_price: Floats = np.zeros(number)
        self.balance: Floats = -self.random.random(number)
        self.ramp: Floats = np.full(number, parameters.improved.first_rate_packets_per_s)
        self.rate: Floats = self.ramp.copy()
        self.doubling_s: Floats = np.array(
            [
                doubling_ns(seconds(routes[i].round_trip_s), parameters.update_min_ns) / SECOND
                for i, _ in plans
            ]
        )
        self.double_at_s: Floats = self.start_s + self.doubling_s
        self.sent: NDArray[np.int64] = np.zeros(number, np.int64)
        self.exponent = EXPONENTS[parameters.benefit]
        self.everyone = np.arange(number)

    def step(self, now_s: float) -> NDArray[np.int64]:
        """The senders of this step, once for each packet."""
        law = self._salaried if self.parameters.law == "paper" else self._paced
        senders = law(now_s)
        np.add.at(self.sent, senders, 1)
        return senders

    def price_changed(self) -> None:
        """A price has changed: adapt the paced rates."""
        if self.parameters.law == "improved":
            self._grant()

    # -- the improved law -------------------------------------------------------------------

    def _grant(self) -> None:
        self.rate = np.asarray(granted_rate(self.price, self.ramp, self.weight, self.exponent))

    def _double(self, now_s: float) -> None:
        """Start a new ramp for senders whose doubling time has passed; they always want more."""
        due = np.flatnonzero(self.double_at_s <= now_s)
        if len(due):
            law = self.parameters.improved
            self.ramp[due] = next_ramp(
                self.ramp[due], granted=self.rate[due], used=0.0, wanted_more=True, law=law
            )
            self.double_at_s[due] += self.doubling_s[due]
            self._grant()

    def paid_by(self, sender: int) -> float:
        """The price that a packet of this sender carries."""
        if self.parameters.law == "paper":
            return 0.0
        return float(price_at(self.rate[sender], self.weight[sender], self.exponent))

    def _paced(self, now_s: float) -> NDArray[np.int64]:
        self._double(now_s)
        started = self.start_s <= now_s
        self.balance += np.where(started, self.rate * STEP_S, 0.0)
        np.minimum(self.balance, self.parameters.improved.burst_packets, out=self.balance)
        senders: list[NDArray[np.int64]] = []
        ready = np.flatnonzero((self.balance > 0) & started)
        while len(ready):
            senders.append(ready)
            self.balance[ready] -= 1
            ready = ready[self.balance[ready] > 0]
        return np.concatenate(senders) if senders else ready

    # -- the paper's law --------------------------------------------------------------------

    def _salaried(self, now_s: float) -> NDArray[np.int64]:
        law = self.parameters.paper
        due = np.flatnonzero(self.payday_s <= now_s)
        if len(due):
            self._pay(due, now_s)
        cost = law.processing_fee + self.price
        started = self.start_s <= now_s
        affordable = (self.savings >= cost) & started
        self.blocked |= ~affordable & started
        may_draw = (self.draw_again_s <= now_s) | (self.price != self.lost_at_price)
        ready = np.flatnonzero(affordable & may_draw)
        senders: list[NDArray[np.int64]] = []
        while len(ready):
            if law.randomised:
                won = self.random.random(len(ready)) < send_probability(cost[ready])
                lost = ready[~won]
                self.draw_again_s[lost] = now_s + law.lottery_ns / SECOND
                self.lost_at_price[lost] = self.price[lost]
                ready = ready[won]
            senders.append(ready)
            self.savings[ready] -= cost[ready]
            self.dearest[ready] = np.maximum(self.dearest[ready], cost[ready])
            left = self.savings[ready] >= cost[ready]
            self.blocked[ready[~left]] = True
            ready = ready[left]
        return np.concatenate(senders) if senders else ready

    def _pay(self, due: NDArray[np.int64], now_s: float) -> None:
        law = self.parameters.paper
        self.period_ns[due] = next_period_ns(
            self.period_ns[due],
            blocked=self.blocked[due],
            dearest_bought=self.dearest[due],
            update_min_ns=self.parameters.update_min_ns,
            law=law,
        )
        self.savings[due] = paid(self.savings[due], law.salary * self.weight[due], law)
        self.payday_s[due] = now_s + self.period_ns[due] / SECOND
        self.blocked[due] = False
        self.dearest[due] = 0.0


class ArrayRun:
    """One run of one scenario with one seed."""

    def __init__(
        self, scenario: MulticastScenario, parameters: MulticastParameters, seed: int
    ) -> None:
        self.scenario = scenario
        self.parameters = parameters
        narrow, self.routes = narrow_routes(scenario)
        law = chosen_law(parameters, random_stream(seed, "accounts"))
        self.links = [ArrayLink(plan, "-".join(plan.ends), law.price_link(0)) for plan in narrow]
        self.senders = ArraySenders(scenario, parameters, self.routes, seed)
        plans, links = len(scenario.senders), len(self.links)
        self.access_free_s = [0.0] * plans
        self.known: Floats = np.zeros((plans, links))
        self.known_sequence = np.zeros((plans, links), np.int64)
        self.on_tree = np.zeros((plans, links))
        self._listeners: list[dict[float, list[int]]] = [{} for _ in self.links]
        for number, route in enumerate(self.routes):
            for (link, _, _), delay_s in zip(route.links, route.delays_s, strict=True):
                self.on_tree[number, link] = 1.0
                self._listeners[link].setdefault(delay_s, []).append(number)
        self.events: list[tuple[float, int, Any, tuple[Any, ...]]] = []
        self.serial = count()
        self.now_s = 0.0
        self.sampler = Sampler([link.name for link in self.links], scenario.warm_up_s)

    # -- running ----------------------------------------------------------------------------

    def run(self) -> MulticastResult:
        """Let the time pass."""
        scenario = self.scenario
        for change in scenario.changes:
            name = "-".join(change.ends)
            link = next(each for each in self.links if each.name == name)
            rate = LinkPlan(change.ends, change.mbit_per_s).packets_per_s
            self._at(change.at_s, link.set_rate, rate)
        update_s = self.parameters.update_min_ns / SECOND
        self._at(update_s, self._update, update_s)
        for number in range(1, round(scenario.duration_s / STEP_S)):
            now_s = number * STEP_S
            while self.events and self.events[0][0] <= now_s:
                self.now_s, _, what, arguments = heappop(self.events)
                what(*arguments)
            self.now_s = now_s
            for sender in self.senders.step(now_s).tolist():
                self._send(sender)
        clients: dict[str, list[float]] = {}
        measured = self.sampler.sent_by_client(scenario.duration_s)
        for index, each in enumerate(self.senders.plan.tolist()):
            clients.setdefault(scenario.senders[each].name, []).append(measured.get(index, 0.0))
        return self.sampler.result(scenario.duration_s, clients)

    def _at(self, at_s: float, what: Any, *arguments: Any) -> None:
        heappush(self.events, (at_s, next(self.serial), what, arguments))

    def _send(self, sender: int) -> None:
        plan = int(self.senders.plan[sender])
        self.sampler.sent(self.now_s, sender, self.scenario.senders[plan].name)
        paid_price = self.senders.paid_by(sender)
        echo = self._dearest(plan)
        route = self.routes[plan]
        leaves_s = max(self.now_s, self.access_free_s[plan])
        self.access_free_s[plan] = leaves_s + route.access_s
        for link, parent, before_s in route.links:
            if parent == NOWHERE:
                self._at(leaves_s + before_s, self._arrive, link, plan, paid_price, echo)

    def _dearest(self, plan: int) -> int:
        """The most expensive link and the number of its price, as one number."""
        prices = self.known[plan] * self.on_tree[plan]
        link = int(prices.argmax())
        if prices[link] <= 0:
            return NOWHERE
        return link << 32 | int(self.known_sequence[plan, link])

    def _arrive(self, index: int, plan: int, paid_price: float, echo: int) -> None:
        link = self.links[index]
        named = echo & 0xFFFFFFFF if echo >= 0 and echo >> 32 == index else None
        link.record.arrived(1.0, paid_price, named, seconds(self.now_s))
        if link.busy:
            link.queue.append((plan, paid_price, echo))
            self.sampler.buffered(self.now_s, link.name, link.buffered)
        else:
            self._transmit(link, index, (plan, paid_price, echo))

    def _transmit(self, link: ArrayLink, index: int, packet: tuple[int, float, int]) -> None:
        link.busy = True
        self._at(self.now_s + 1 / link.packets_per_s, self._transmitted, index, packet)

    def _transmitted(self, index: int, packet: tuple[int, float, int]) -> None:
        link = self.links[index]
        self.sampler.carried(self.now_s, link.name)
        plan, paid_price, echo = packet
        for child, parent, before_s in self.routes[plan].links:
            if parent == index:
                at_s = self.now_s + link.latency_s + before_s
                self._at(at_s, self._arrive, child, plan, paid_price, echo)
        link.busy = False
        if link.queue:
            self._transmit(link, index, link.queue.popleft())

    def _update(self, every_s: float) -> None:
        """Update the price of every link, as the brokers do."""
        for index, link in enumerate(self.links):
            before = link.price
            link.price = link.record.update(link.buffered, seconds(self.now_s))
            if link.price > 0 or before > 0:
                link.sequence += 1
                link.record.issued(link.sequence, seconds(self.now_s))
                self._tell(index, link)
        self._at(self.now_s + every_s, self._update, every_s)

    def _tell(self, index: int, link: ArrayLink) -> None:
        for delay_s, plans in self._listeners[index].items():
            told = (index, plans, link.price, link.sequence)
            self._at(self.now_s + delay_s, self._told, *told)

    def _told(self, index: int, plans: list[int], price: float, sequence: int) -> None:
        self.known[plans, index] = price
        self.known_sequence[plans, index] = sequence
        self.senders.price = (self.known * self.on_tree).sum(axis=1)[self.senders.plan]
        self.senders.price_changed()


def run_arrays(
    scenario: MulticastScenario, parameters: MulticastParameters, seed: int
) -> MulticastResult:
    """One run as arrays."""
    return ArrayRun(scenario, parameters, seed).run()

"""A multicast scenario with the broker machines in the simulator.

Senders are greedy: each keeps a bounded number of messages without a receipt at its broker, so that
one always waits.  The client library's own machines do all the communication of senders and members
with their brokers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from penstock.client.groups.producer import GroupProducer
from penstock.client.groups.reader import GroupReader
from penstock.client.publishing.limits import PublishLimits
from penstock.content.codec.size import SizeMeter, encoded_size
from penstock.content.rows.batch import Batch
from penstock.core.clock import MILLISECOND, SECOND, Instant, in_seconds, seconds
from penstock.core.machine import Effect, Fact, LinkDown, LinkUp, Received, Send
from penstock.core.randomness import random_stream
from penstock.core.trace import TraceRecord
from penstock.overlay.node import node_config
from penstock.papers.cost_benefit.result import MulticastResult, Sampler
from penstock.papers.cost_benefit.scenario import (
    PACKET_BYTES,
    UNACKNOWLEDGED_PACKETS,
    LinkPlan,
    MulticastScenario,
)
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.messages import (
    Destination,
    GroupDelivery,
    Multicast,
    PriceRecord,
    Prices,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.sim.link import LinkModel
from penstock.sim.world import BROKER, EPOCH, SimWorld

UNRECEIPTED: Final = 400
"""Messages that a greedy sender keeps at its broker: more than a 2 Mbit/s link carries in the
longest round trip that its buffer allows."""

OnTrace = Callable[[TraceRecord], None]

ROOM_BYTES: Final = 1 << 40
LATEST_START_NS: Final = 100 * MILLISECOND
SETTLED_S: Final = 1.0
"""Time for members to join and links to be known; scenarios begin after it."""


def payload_bytes(
    sender: str = "acfg-10/0123456789abcdef",
    groups: tuple[str, ...] = ("cfg",),
    receivers: int = 1,
) -> int:
    """The payload that makes a message for this many receivers ``PACKET_BYTES`` on a link."""
    sample = Multicast(
        "A",
        EPOCH,
        sender,
        10_000,
        groups,
        (Destination("G", 1 << 31, 10_000, 9_900),) * receivers,
        0.5,
        1 << 60,
        1 << 33,
        2,
        Batch.from_rows([({}, b"")]),
    )
    return PACKET_BYTES - encoded_size(sample)


class GreedySender:
    """A client that always has a message to send."""

    def __init__(
        self,
        name: str,
        groups: tuple[str, ...],
        payload: bytes,
        start_at: Instant,
        weight: float = 1.0,
    ) -> None:
        limits = PublishLimits(linger_ns=0)
        self.producer = GroupProducer(name, limits, groups=groups, weight=weight)
        self._batch = Batch.from_rows([({}, payload)])
        self._start_at = start_at
        self._unreceipted = 0

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Send as many messages as the receipts allow."""
        match fact:
            case LinkUp():
                self.producer.connected()
            case LinkDown():
                self.producer.disconnected()
            case Received(message=message):
                self.producer.received(message)
        self._unreceipted -= len(self.producer.take_settled())
        while now >= self._start_at and self._unreceipted < UNRECEIPTED:
            if self.producer.add_batch(self._batch) is None:
                break
            self._unreceipted += 1
        return [Send(BROKER, each) for each in self.producer.outgoing(now, ROOM_BYTES)]

    def next_deadline(self) -> Instant | None:
        """The start; afterwards receipts set the pace."""
        return self._start_at if not self._unreceipted else None

    def check_invariants(self) -> None:
        self.producer.check_invariants()


class EagerMember:
    """A client that consumes messages immediately."""

    def __init__(
        self, member: str, group: str, on_delivery: Callable[[GroupDelivery, Instant], None]
    ) -> None:
        self.reader = GroupReader(member, group)
        self._on_delivery = on_delivery

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        match fact:
            case LinkUp():
                self.reader.connected()
            case LinkDown():
                self.reader.disconnected()
            case Received(message=message):
                self.reader.received(message)
        while self.reader.deliveries:
            self._on_delivery(self.reader.take(), now)
        return [Send(BROKER, each) for each in self.reader.outgoing()]

    def next_deadline(self) -> Instant | None:
        """None: it acts only on messages."""
        return None

    def check_invariants(self) -> None:
        """Nothing to check."""


class MeteredWorld(SimWorld):
    """Counts sent packets, buffers, and the bandwidth of prices."""

    def __init__(
        self,
        seed: int,
        began: Instant,
        sampler: Sampler,
        receivers: int,
        on_trace: OnTrace | None = None,
    ) -> None:
        """``receivers`` is the number of receiving brokers behind a bottleneck."""
        super().__init__(seed, on_trace=on_trace)
        self.sampler = sampler
        self._receivers = receivers
        self.price_bytes: dict[tuple[str, str, int], float] = {}
        """By link, and by the priced link: separate frames, and prices carried by data."""
        self.prices_told: dict[tuple[str, str], int] = {}
        self.prices_rode: dict[tuple[str, str], int] = {}
        self._began = began
        self._sizes = SizeMeter()
        self._last: dict[str, int] = {}

    def _send(self, name: str, effect: Send) -> None:
        super()._send(name, effect)
        link = self.links.get((name, effect.link))
        message = effect.message
        if link is None or self.now < self._began:
            return
        at_s = in_seconds(self.now - self._began)
        if isinstance(message, Multicast):
            self._count_message(name, message, at_s)
            self.sampler.buffered(at_s, link.name, link.buffered_bytes / PACKET_BYTES)
            if message.prices:
                ends = (name, effect.link)
                without = msgspec.structs.replace(message, prices=())
                taken_bytes = encoded_size(message) - encoded_size(without)
                self._count_prices(ends, message.prices, taken_bytes)
                self.prices_rode[ends] = self.prices_rode.get(ends, 0) + len(message.prices)
        elif isinstance(message, Prices):
            self._count_prices((name, effect.link), message.records, encoded_size(message))

    def _count_message(self, name: str, message: Multicast, at_s: float) -> None:
        """Count a message once, although the sender's broker sends it over each link."""
        if name == message.origin and self._last.get(message.sender) != message.first_sequence:
            self._last[message.sender] = message.first_sequence
            # The size on a bottleneck.
            behind = message.destinations[: self._receivers]
            narrow = msgspec.structs.replace(message, destinations=behind, prices=())
            packets = self._sizes.size(narrow) / PACKET_BYTES
            plan = message.sender.rpartition("-")[0]
            self.sampler.sent(at_s, message.sender, plan, packets)

    def _count_prices(
        self, ends: tuple[str, str], records: tuple[PriceRecord, ...], taken_bytes: int
    ) -> None:
        self.prices_told[ends] = self.prices_told.get(ends, 0) + len(records)
        for record in records:
            key = (*ends, record.link)
            self.price_bytes[key] = self.price_bytes.get(key, 0.0) + taken_bytes / len(records)


def both_ways(link: LinkPlan) -> tuple[tuple[str, str], tuple[str, str]]:
    """The two directions of a link."""
    return link.ends, (link.ends[1], link.ends[0])


class MachineRun:
    """One run of one scenario with one seed."""

    def __init__(
        self,
        scenario: MulticastScenario,
        parameters: MulticastParameters,
        seed: int,
        on_trace: OnTrace | None = None,
    ) -> None:
        self.scenario = scenario
        self._trace_interval_ns = 0 if on_trace is None else SECOND
        self._random = random_stream(seed, "multicast", "starts")
        self._began = EPOCH + seconds(SETTLED_S)
        self.sampler = Sampler([], scenario.warm_up_s)
        receivers = scenario.bottleneck_receivers
        self.world = MeteredWorld(seed, self._began, self.sampler, receivers, on_trace)
        self._add_brokers(parameters)
        self._add_clients()

    def _add_brokers(self, parameters: MulticastParameters) -> None:
        costs: dict[str, dict[str, int]] = {name: {} for name in self.scenario.brokers}
        for link in self.scenario.links:
            here, there = link.ends
            # Paths are chosen by latency, as the paper's trees are.
            costs[here][there] = costs[there][here] = link.cost
        for name, neighbours in costs.items():
            config = node_config(
                name, neighbours, multicast=parameters, trace_interval_ns=self._trace_interval_ns
            )
            self.world.add_broker(config)
        for link in self.scenario.links:
            model = LinkModel(
                bandwidth_bytes_per_s=round(link.mbit_per_s * 125_000),
                latency_ns=round(link.latency_ms * MILLISECOND),
                window_bytes=UNACKNOWLEDGED_PACKETS * PACKET_BYTES,
                queue_bytes=1 << 30,
            )
            self.world.add_link(*link.ends, model)

    def _add_clients(self) -> None:
        payload = bytes(payload_bytes(receivers=self.scenario.bottleneck_receivers))
        for group, brokers in self.scenario.groups.items():
            for number, broker in enumerate(brokers):
                member = f"{group}-{number}"
                where = f"{group} at {broker}"
                self.world.add_client(
                    member, EagerMember(member, group, self._received(where)), broker
                )
        for plan in self.scenario.senders:
            for number in range(plan.clients):
                spread = self._random.random() * self.scenario.start_spread_s
                start_at = self._began + seconds(plan.start_s + spread)
                name = f"{plan.name}-{number}"
                sender = GreedySender(name, plan.groups, payload, start_at, plan.weight)
                self.world.add_client(name, sender, plan.broker)

    def _received(self, where: str) -> Callable[[GroupDelivery, Instant], None]:
        def note(delivery: GroupDelivery, now: Instant) -> None:
            self.sampler.carried(in_seconds(now - self._began), where)

        return note

    def run(self, progress: Callable[[float], None] = lambda at_s: None) -> MulticastResult:
        """Run the scenario; ``progress`` receives the current second."""
        scenario, world = self.scenario, self.world
        # Brokers seed their draws with the instant of their start, which must differ by seed.
        world.run_for(self._random.randrange(LATEST_START_NS))
        world.start()
        if self._trace_interval_ns:
            world.trace_links(self._trace_interval_ns)
        for change in scenario.changes:
            at = self._began + seconds(change.at_s)
            rate = round(change.mbit_per_s * 125_000)
            world.scheduler.at(at, world.set_bandwidth, *change.ends, rate)
        for second in range(1, round(scenario.duration_s) + 1):
            world.run_until(self._began + second * SECOND)
            progress(second)
        rates = self.sampler.sent_by_client(scenario.duration_s)
        clients = {
            plan.name: [rates.get(f"{plan.name}-{number}", 0.0) for number in range(plan.clients)]
            for plan in scenario.senders
        }
        result = self.sampler.result(scenario.duration_s, clients)
        told, rode = self.world.prices_told, self.world.prices_rode
        return msgspec.structs.replace(
            result,
            control_share=self._control_shares(),
            ridden_share={
                f"{here}->{there}": rode.get((here, there), 0) / number
                for (here, there), number in told.items()
            },
        )

    def _control_shares(self) -> dict[str, float]:
        """The share of the narrowest link's bandwidth that the prices of each link take.

        Counted on the link on which it is largest.
        """
        narrowest = min(link.mbit_per_s for link in self.scenario.links)
        capacity = narrowest * 125_000 * self.scenario.duration_s
        most: dict[int, float] = {}
        for (_, _, number), told_bytes in self.world.price_bytes.items():
            most[number] = max(most.get(number, 0.0), told_bytes)
        return {
            f"{here}->{there}": most.get(link_number(here, there), 0.0) / capacity
            for link in self.scenario.links
            for here, there in both_ways(link)
        }


def run_machines(
    scenario: MulticastScenario,
    parameters: MulticastParameters,
    seed: int,
    *,
    on_trace: OnTrace | None = None,
    progress: Callable[[float], None] = lambda at_s: None,
) -> MulticastResult:
    """One run with the broker machines."""
    return MachineRun(scenario, parameters, seed, on_trace).run(progress)

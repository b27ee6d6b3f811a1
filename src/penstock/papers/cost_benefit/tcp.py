"""Scenario 3 with end-to-end TCP connections instead of the overlay (the paper's Figure 12).

The same chain, the same starts; every sender is one NewReno connection over all hops of its path,
with drop-tail queues between them.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, seconds
from penstock.core.randomness import random_stream
from penstock.overlay.routing import parents_from
from penstock.papers.cost_benefit.result import MulticastResult, Sampler
from penstock.papers.cost_benefit.scenario import PACKET_BYTES, MulticastScenario
from penstock.sim.drop_tail_hop import DropTailHop, HopModel
from penstock.sim.newreno import NewRenoFlow
from penstock.sim.scheduler import Scheduler

QUEUE_PACKETS: Final = 50
"""Size of a router's queue: ns2's default, which the paper does not change."""

JITTER_NS: Final = MILLISECOND
"""Without jitter, drop-tail queues always hit the same connection."""


def run_tcp(scenario: MulticastScenario, seed: int) -> MulticastResult:
    """One run; a sender's rate is what its receiver has received in order."""
    scheduler = Scheduler(0)
    hops: dict[tuple[str, str], DropTailHop] = {}
    graph: dict[str, dict[str, int]] = {name: {} for name in scenario.brokers}
    for link in scenario.links:
        here, there = link.ends
        model = HopModel(
            round(link.mbit_per_s * 125_000),
            round(link.latency_ms * MILLISECOND),
            JITTER_NS,
            QUEUE_PACKETS,
        )
        for ends in ((here, there), (there, here)):
            hops[ends] = DropTailHop(model, scheduler, random_stream(seed, *ends, "hop"))
            graph[ends[0]][ends[1]] = 1
    flows: dict[str, NewRenoFlow] = {}
    for plan in scenario.senders:
        (receiver,) = scenario.groups[plan.groups[0]]
        parents = parents_from(plan.broker, graph)
        forward: list[DropTailHop] = []
        backward: list[DropTailHop] = []
        at = receiver
        while at != plan.broker:
            forward.insert(0, hops[parents[at], at])
            backward.append(hops[at, parents[at]])
            at = parents[at]
        flow = NewRenoFlow(scheduler, forward, backward, segment_bytes=PACKET_BYTES)
        flows[plan.name] = flow
        scheduler.at(seconds(plan.start_s), flow.start)
    return _measured(scenario, scheduler, flows)


def _measured(
    scenario: MulticastScenario, scheduler: Scheduler, flows: dict[str, NewRenoFlow]
) -> MulticastResult:
    sampler = Sampler([], scenario.warm_up_s)
    before = dict.fromkeys(flows, 0)
    for second in range(round(scenario.duration_s)):
        scheduler.run_until((second + 1) * SECOND)
        for name, flow in flows.items():
            packets = flow.delivered_bytes // PACKET_BYTES
            sampler.sent(second, name, name, packets - before[name])
            before[name] = packets
    rates = sampler.sent_by_client(scenario.duration_s)
    return sampler.result(scenario.duration_s, {name: [rates[name]] for name in flows})

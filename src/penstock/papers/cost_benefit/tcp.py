"""Scenario 3 with end-to-end TCP connections instead of the overlay (the paper's Figure 12).

The same chain, the same starts; every sender is one NewReno connection over all hops of its path,
with drop-tail queues between them.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, milliseconds, seconds
from penstock.core.randomness import random_stream
from penstock.lab.experiments.experiment import Experiment, scenario_of
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.overlay.routing import parents_from
from penstock.sim.drop_tail_hop import DropTailHop, HopModel
from penstock.sim.newreno import NewRenoFlow
from penstock.sim.scheduler import Scheduler

QUEUE_PACKETS: Final = 50
"""Size of a router's queue: ns2's default, which the paper does not change."""

JITTER_NS: Final = MILLISECOND
"""Without jitter, drop-tail queues always hit the same connection."""

PACKET_BYTES: Final = 1000
WARM_UP_S: Final = 35


def chain_of_tcp(seed: int) -> dict[str, float]:
    """Mbit/s of each sender, ``AF``, and in each second, ``AF 12``, and of all, ``total``.

    A sender's rate is what its receiver has received in order.
    """
    scenario = expanded(scenario_of(Experiment("multicast-3")))
    scheduler = Scheduler(0)
    flows = _flows(scenario, scheduler, seed)
    numbers: dict[str, float] = {}
    before = dict.fromkeys(flows, 0)
    duration_s = round(scenario.duration_s)
    for second in range(duration_s):
        scheduler.run_until((second + 1) * SECOND)
        for name, flow in flows.items():
            packets = flow.delivered_bytes // PACKET_BYTES
            numbers[f"{name} {second}"] = PACKET_BYTES * 8e-6 * (packets - before[name])
            before[name] = packets
    for name in flows:
        measured = [numbers[f"{name} {second}"] for second in range(WARM_UP_S, duration_s)]
        numbers[name] = sum(measured) / len(measured)
    return {**numbers, "total": sum(numbers[name] for name in flows)}


def _flows(scenario: Scenario, scheduler: Scheduler, seed: int) -> dict[str, NewRenoFlow]:
    hops: dict[tuple[str, str], DropTailHop] = {}
    graph: dict[str, dict[str, int]] = {each.name: {} for each in scenario.brokers}
    for link in scenario.links:
        latency_ns = milliseconds(link.latency_ms)
        model = HopModel(link.bandwidth_bytes_per_s, latency_ns, JITTER_NS, QUEUE_PACKETS)
        for ends in (link.between, (link.between[1], link.between[0])):
            hops[ends] = DropTailHop(model, scheduler, random_stream(seed, *ends, "hop"))
            graph[ends[0]][ends[1]] = 1
    members = {
        each.group: each.broker for each in scenario.clients if isinstance(each, GroupMember)
    }
    flows: dict[str, NewRenoFlow] = {}
    for sender in scenario.clients:
        if not isinstance(sender, GroupSender):
            continue
        parents = parents_from(sender.broker, graph)
        forward: list[DropTailHop] = []
        backward: list[DropTailHop] = []
        at = members[sender.groups[0]]
        while at != sender.broker:
            forward.insert(0, hops[parents[at], at])
            backward.append(hops[at, parents[at]])
            at = parents[at]
        flow = NewRenoFlow(scheduler, forward, backward, segment_bytes=PACKET_BYTES)
        flows[sender.name] = flow
        scheduler.at(seconds(sender.start_s), flow.start)
    return flows

"""Random cases of two services over one bottleneck.

1. Brokers on both sides of one limited link; each of two services has one to three flows over it.
2. No law defines how two services share: a link takes turns between pubends, all group messages
   and datagrams, and each service's own law decides how much it offers.  So the bound is the use of
   the bottleneck: what all flows deliver together, by its capacity or by what all of them want.
3. Nobody may starve: a flow has at least a tenth of its max-min share of the bottleneck.
"""

from __future__ import annotations

from itertools import combinations
from random import Random
from typing import Any, Final

from penstock.lab.scenario.model import Access, Link, Scenario
from penstock.lab.workloads.datagram.tables import DatagramPublisher, DatagramSubscriber
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.papers.held_out.case import Case, CaseFlow
from penstock.papers.held_out.events import steady
from penstock.papers.held_out.multicast import WINDOW_BYTES
from penstock.papers.held_out.network import (
    LATENCY_MS,
    Network,
    brokers_of,
    limited,
    log_uniform,
)

KIND: Final = "mixture"
SERVICES: Final = ("guaranteed", "multicast", "datagram")
BOTTLENECK: Final = "near->far"
CAPACITY_BYTES_PER_S: Final = (40e3, 400e3)
FLOWS: Final = (1, 3)
SIDES: Final = (1, 3)
LOAD: Final = (0.5, 3.0)
MSGS_PER_S: Final = (15.0, 60.0)
"""What a fair share is in messages, which have the same size."""
MESSAGE_BYTES: Final = (400.0, 1150.0)
DRAIN_S: Final = 60.0

Clients = list[Any]


def draw(seed: int, random: Random) -> Case:
    """The case of a seed."""
    services = random.choice(list(combinations(SERVICES, 2)))
    left = [f"l{number}" for number in range(random.randint(*SIDES))]
    right = [f"r{number}" for number in range(random.randint(*SIDES))]
    pairs = [("near", "far")]
    pairs += [(each, "near") for each in left] + [("far", each) for each in right]
    network = Network(
        ("near", "far", *left, *right),
        tuple(
            Link(
                between=pair,
                latency_ms=round(log_uniform(random, *LATENCY_MS), 1),
                window_bytes=WINDOW_BYTES,
            )
            for pair in pairs
        ),
    )
    counts = {each: random.randint(*FLOWS) for each in services}
    flows_in_all = sum(counts.values())
    capacity = float(round(log_uniform(random, *CAPACITY_BYTES_PER_S)))
    share = capacity / flows_in_all
    size = round(share / log_uniform(random, *MSGS_PER_S))
    size = min(max(size, round(MESSAGE_BYTES[0])), round(MESSAGE_BYTES[1]))
    clients: Clients = []
    flows: list[CaseFlow] = []
    homes: dict[str, int] = {}
    for service in services:
        for number in range(counts[service]):
            name = f"{service}-{number}"
            home, to = random.choice(left), random.choice(right)
            homes[home] = homes.get(home, 0) + (service == "guaranteed")
            demand = share * log_uniform(random, *LOAD)
            subject = f"{home}.{homes[home]}" if service == "guaranteed" else ""
            flows.append(
                CaseFlow(
                    name, service, {BOTTLENECK: 1.0}, demand, size, 1.0, subject, (f"{name}-r",)
                )
            )
            clients += _clients(flows[-1], home, to)
    plan = steady({BOTTLENECK: capacity})
    return Case(
        seed,
        KIND,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed}: {' and '.join(services)} over one bottleneck.",
            duration_s=plan.duration_s,
            drain_s=DRAIN_S,
            brokers=brokers_of(
                network, {home: {"pubends": count} for home, count in homes.items() if count}
            ),
            links=limited(network.links, {BOTTLENECK: capacity}, {}),
            clients=tuple(clients),
        ),
        tuple(flows),
        plan.phases,
    )


def _clients(flow: CaseFlow, home: str, to: str) -> Clients:
    """The receiver of a flow, and its sender."""
    rate, size = flow.demand / flow.message_bytes, round(flow.message_bytes)
    common: dict[str, Any] = {"service": flow.service, "rate_msgs_per_s": rate, "broker": home}
    receiver: dict[str, Any] = {"service": flow.service, "name": f"{flow.name}-r", "broker": to}
    match flow.service:
        case "guaranteed":
            return [
                Subscriber(**receiver, role="subscriber", selector=f"topic = '{flow.name}'"),
                Publisher(
                    **common,
                    role="publisher",
                    name=flow.name,
                    pubend=flow.subject,
                    wire_bytes=size,
                    max_in_flight=10,
                    identity="tick",
                    attributes={"topic": flow.name},
                ),
            ]
        case "multicast":
            return [
                GroupMember(**receiver, role="member", group=flow.name),
                GroupSender(
                    **common, role="sender", name=flow.name, groups=(flow.name,), wire_bytes=size
                ),
            ]
        case _:
            return [
                DatagramSubscriber(**receiver, role="subscriber", selector=f"of = '{flow.name}'"),
                DatagramPublisher(
                    **common,
                    role="publisher",
                    name=flow.name,
                    access=Access(latency_ms=1.0, jitter_ms=4.0),
                    attributes={"of": flow.name},
                    message_bytes=size,
                ),
            ]

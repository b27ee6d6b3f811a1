"""Random cases of the multicast service.

1. One to eight senders at random brokers, each to one or two of some groups, whose members are at
   random brokers.  Its messages cross the tree to all of their brokers once.
2. The improved law aims at the rates where the benefit of each sender, w · R^(1-α) / (1-α), less
   its price is largest: the α-fair optimum, with the exponent of the benefit function that is
   drawn, and with weights in a third of the cases.  The paper's law states no fairness; it is
   measured by the same rates.
3. A message names the receiving brokers behind a link, so it is a few bytes longer there.
4. A sender offers 0.3 to 3 times its share, and its share is four messages a second at least: a
   sender that crosses many congested links has a small share, and a window must see it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from random import Random
from typing import Final

import msgspec

from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.papers.held_out.case import Case, CaseFlow
from penstock.papers.held_out.events import Plan, steady, step
from penstock.papers.held_out.network import (
    Network,
    bottlenecks,
    brokers_of,
    limited,
    log_uniform,
    random_network,
)
from penstock.papers.held_out.optimum import alpha_fair
from penstock.services.multicast.laws.benefit import EXPONENTS
from penstock.services.multicast.parameters import Benefit

SERVICE: Final = "multicast"
SENDERS: Final = (1, 8)
GROUPS: Final = (1, 4)
MEMBERS: Final = (1, 4)
MESSAGE_BYTES: Final = (400.0, 4000.0)
"""On the wire; the names of groups and of a dozen receiving brokers take up to 350."""
LOAD: Final = (0.3, 3.0)
LEAST_MSGS_PER_S: Final = 4.0
MOST_STEPS_PER_S: Final = 2500.0
"""Messages a second times links: what a simulation can afford."""
WEIGHTS: Final = (0.5, 1.0, 2.0)
WEIGHTED_SHARE, STEP_SHARE = 1 / 3, 0.3
WINDOW_BYTES: Final = 20_000
"""The paper's 20 unacknowledged packets on a link."""
BACKLOG_S: Final = 0.5
"""What a sender offers beyond what it is allowed waits no longer than this and two round trips:
with a longer backlog it would want more than its demand for a long time."""
DRAIN_S: Final = 60.0
REDRAWS: Final = 200
DESTINATION_BYTES: Final = 16
"""What each receiving broker adds to a message."""


class _Sender(msgspec.Struct, frozen=True):
    """A sender before its size and rate are known."""

    name: str
    home: str
    groups: tuple[str, ...]
    tree: dict[str, int]
    weight: float

    def flow(self, capacities: dict[str, float], size: float, demand: float) -> CaseFlow:
        """What it takes of each limited link."""
        longest = max(self.tree.values())
        uses = {
            link: 1 - (longest - behind) * DESTINATION_BYTES / size
            for link, behind in self.tree.items()
            if link in capacities
        }
        return CaseFlow(self.name, SERVICE, uses, demand, size, self.weight)


def draw(seed: int, random: Random) -> Case:
    """The case of a seed: the first draw whose shares can be seen and simulated."""
    for _ in range(REDRAWS):
        case = _draw(seed, random)
        if case is not None:
            return case
    raise RuntimeError(f"no multicast case for the seed {seed} in {REDRAWS} draws")


def _draw(seed: int, random: Random) -> Case | None:
    network = random_network(random)
    groups = {
        f"g{number}": random.sample(
            network.brokers, random.randint(MEMBERS[0], min(MEMBERS[1], len(network.brokers)))
        )
        for number in range(random.randint(*GROUPS))
    }
    benefit: Benefit = random.choice(("throughput", "concave"))
    alpha = EXPONENTS[benefit]
    senders = _senders(random, network, groups)
    if senders is None:
        return None
    used = list(dict.fromkeys(link for each in senders for link in each.tree))
    capacities = bottlenecks(random, used)
    plan = step(random, capacities) if random.random() < STEP_SHARE else steady(capacities)
    drawn = _flows(random, network, senders, plan, capacities, alpha)
    if drawn is None:
        return None
    flows, clients = drawn
    members = [
        GroupMember(
            service=SERVICE, role="member", name=f"{group}-{broker}", broker=broker, group=group
        )
        for group, brokers in groups.items()
        for broker in brokers
    ]
    links = limited(network.links, capacities, plan.changes)
    return Case(
        seed,
        SERVICE,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed} of the {SERVICE} service.",
            duration_s=plan.duration_s,
            drain_s=DRAIN_S,
            parameters={SERVICE: {"benefit": benefit, "highest_weight": max(WEIGHTS)}},
            brokers=brokers_of(network, {}),
            links=tuple(msgspec.structs.replace(each, window_bytes=WINDOW_BYTES) for each in links),
            clients=(*members, *clients),
        ),
        tuple(flows),
        plan.phases,
        alpha,
    )


def _senders(
    random: Random, network: Network, groups: dict[str, list[str]]
) -> list[_Sender] | None:
    """None if the messages of one would cross no link."""
    weighted = random.random() < WEIGHTED_SHARE
    senders = []
    for number in range(random.randint(*SENDERS)):
        home = random.choice(network.brokers)
        to = tuple(sorted(random.sample(sorted(groups), random.randint(1, min(2, len(groups))))))
        receivers = sorted({broker for group in to for broker in groups[group]} - {home})
        if not receivers:
            return None
        weight = random.choice(WEIGHTS) if weighted else 1.0
        senders.append(_Sender(f"m{number}", home, to, network.tree(home, receivers), weight))
    return senders


def _flows(
    random: Random,
    network: Network,
    senders: Sequence[_Sender],
    plan: Plan,
    capacities: dict[str, float],
    alpha: float,
) -> tuple[list[CaseFlow], list[GroupSender]] | None:
    """None if a share is too small to be seen, or too large to be simulated."""
    most = max(capacities.values())
    greedy = [each.flow(capacities, MESSAGE_BYTES[1], most).shared for each in senders]
    shares = alpha_fair(capacities, greedy, alpha)
    flows, clients = [], []
    for sender in senders:
        share = shares[sender.name]
        least = share * len(sender.tree) * len(senders) / MOST_STEPS_PER_S
        largest = min(MESSAGE_BYTES[1], share / LEAST_MSGS_PER_S)
        low = max(MESSAGE_BYTES[0], least)
        if low > largest:
            return None
        size = round(log_uniform(random, low, largest))
        demand = share * log_uniform(random, *LOAD)
        flows.append(sender.flow(capacities, size, demand))
        clients.append(_client(sender, size, demand, network.round_trip_s(sender.tree)))
    shared = [each.shared for each in flows]
    for phase in plan.phases:
        rates = alpha_fair(phase.capacities, shared, alpha)
        if any(rates[each.name] < LEAST_MSGS_PER_S / 2 * each.message_bytes for each in flows):
            return None
    return flows, clients


def _client(sender: _Sender, size: int, demand: float, round_trip_s: float) -> GroupSender:
    return GroupSender(
        service=SERVICE,
        role="sender",
        name=sender.name,
        broker=sender.home,
        groups=sender.groups,
        weight=sender.weight,
        rate_msgs_per_s=demand / size,
        max_in_flight=max(20, ceil(demand / size * (BACKLOG_S + 2 * round_trip_s))),
        wire_bytes=size,
        wire_receivers=max(sender.tree.values()),
        start_within_s=1.0,
    )

"""Random cases of the guaranteed service.

1. One to eight publishers, each with a pubend and a topic of its own, at random brokers.
2. Subscribers at random brokers want some of the topics, so that their needs overlap; every topic
   has at least one subscriber behind a link.
3. A pubend runs at the rate of its slowest live edge, so it takes the same of every link of its
   tree; links share by bytes.  The optimum is max-min fair between the pubends.
4. A publisher offers 0.3 to 3 times its fair share.  Messages are small enough that a fair share is
   ten a second at least: the floor of the laws is one.
5. Messages are published in frames, so that a case is simulated in seconds.
"""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Final

from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.papers.held_out.case import Case, CaseFlow
from penstock.papers.held_out.events import Plan, outage, steady, step
from penstock.papers.held_out.network import (
    Network,
    bottlenecks,
    brokers_of,
    limited,
    log_uniform,
    random_network,
)
from penstock.papers.held_out.optimum import SharedFlow, max_min

SERVICE: Final = "guaranteed"
SOURCES: Final = (1, 8)
SUBSCRIBERS: Final = (1, 6)
MESSAGE_BYTES: Final = (200.0, 4000.0)
"""On the wire; an empty message takes about 150."""
LOAD: Final = (0.3, 3.0)
LEAST_MSGS_PER_S: Final = 10.0
FRAMES_PER_S: Final = (10.0, 40.0)
STEPS_PER_S: Final = 1500.0
"""Frames a second times links: what a simulation can afford."""
DRAIN_S: Final = 60.0
STEP_SHARE, OUTAGE_SHARE = 0.25, 0.15


def draw(seed: int, random: Random) -> Case:
    """The case of a seed."""
    network = random_network(random)
    homes = [random.choice(network.brokers) for _ in range(random.randint(*SOURCES))]
    names = [f"p{number}" for number in range(len(homes))]
    subscribers = _subscribers(random, network, homes)
    trees = {
        name: network.tree(
            home, [each.broker for each in subscribers if _wants(each, name)], choice
        )
        for name, home, choice in zip(names, homes, network.choices(homes), strict=True)
    }
    used = list(dict.fromkeys(link for tree in trees.values() for link in tree))
    capacities = bottlenecks(random, used)
    plan = _plan(random, capacities, used)
    shares = fair_shares(trees, capacities)
    flows, publishers = [], []
    hops = sum(map(len, trees.values()))
    for name, home in zip(names, homes, strict=True):
        pubend = f"{home}.{1 + homes[: names.index(name)].count(home)}"
        share = shares[name]
        size = min(log_uniform(random, *MESSAGE_BYTES), share / LEAST_MSGS_PER_S)
        size = max(round(size), round(MESSAGE_BYTES[0]))
        demand = share * log_uniform(random, *LOAD)
        publishers.append(_publisher(name, home, pubend, size, share, demand, hops))
        receivers = tuple(each.name for each in subscribers if _wants(each, name))
        uses = {link: 1.0 for link in trees[name] if link in capacities}
        brokers = [each.broker for each in subscribers if _wants(each, name)]
        moves = network.tree(home, brokers) != trees[name]
        flows.append(CaseFlow(name, SERVICE, uses, demand, size, 1.0, pubend, receivers, moves))
    return Case(
        seed,
        SERVICE,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed} of the {SERVICE} service.",
            duration_s=plan.duration_s,
            drain_s=DRAIN_S,
            brokers=brokers_of(network, {each: {"pubends": homes.count(each)} for each in homes}),
            links=limited(network.links, capacities, plan.changes),
            clients=(*subscribers, *publishers),
            faults=plan.faults,
        ),
        tuple(flows),
        plan.phases,
    )


def fair_shares(trees: dict[str, dict[str, int]], capacities: dict[str, float]) -> dict[str, float]:
    """What each flow would get if all wanted as much as they can; a flow that crosses no bottleneck
    counts as one that has the largest of them for itself."""
    most = max(capacities.values())
    flows = [
        SharedFlow(name, {link: 1.0 for link in tree if link in capacities}, most)
        for name, tree in trees.items()
    ]
    return max_min(capacities, flows)


def _plan(random: Random, capacities: dict[str, float], used: list[str]) -> Plan:
    drawn = random.random()
    if drawn < STEP_SHARE:
        return step(random, capacities)
    if drawn < STEP_SHARE + OUTAGE_SHARE:
        return outage(random, capacities, used)
    return steady(capacities)


def _subscribers(random: Random, network: Network, homes: list[str]) -> list[Subscriber]:
    """Random needs; a topic that nobody behind a link wants gets a subscriber of its own."""
    topics = [f"p{number}" for number in range(len(homes))]
    wanted: dict[str, set[str]] = {}
    for _ in range(random.randint(*SUBSCRIBERS)):
        broker = random.choice(network.brokers)
        some = random.sample(topics, random.randint(1, len(topics)))
        wanted.setdefault(broker, set()).update(some)
    for topic, home in zip(topics, homes, strict=True):
        if not any(topic in some and broker != home for broker, some in wanted.items()):
            broker = random.choice([each for each in network.brokers if each != home])
            wanted.setdefault(broker, set()).add(topic)
    return [
        Subscriber(
            service=SERVICE,
            role="subscriber",
            name=f"s-{broker}",
            broker=broker,
            selector=f"topic IN ({', '.join(repr(each) for each in sorted(some))})",
        )
        for broker, some in sorted(wanted.items())
    ]


def _wants(subscriber: Subscriber, topic: str) -> bool:
    return f"'{topic}'" in subscriber.selector


def _publisher(
    name: str, home: str, pubend: str, size: int, share: float, demand: float, hops: int
) -> Publisher:
    low, high = FRAMES_PER_S
    frames_per_s = min(max(STEPS_PER_S / max(1, hops), low), high)
    rows = max(1, ceil(share / size / frames_per_s))
    return Publisher(
        service=SERVICE,
        role="publisher",
        name=name,
        broker=home,
        pubend=pubend,
        rate_msgs_per_s=demand / size,
        wire_bytes=size,
        batch_rows=rows,
        max_in_flight=10 * rows,
        identity="tick",
        attributes={"topic": name},
    )

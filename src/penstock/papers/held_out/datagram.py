"""Random cases of the datagram service.

1. One to eight publishers at random brokers.  A part of what each publishes is *wanted*, by one to
   three subscribers at random brokers; the rest crosses no link.  The wanted messages of a
   publisher are one flow by content, which its slowest subscriber limits.
2. The laws divide a link into equal parts of messages a second, between all flows that want more:
   the optimum is max-min.  All messages of a case have the same size, so it is the same in bytes.
3. A publisher offers 0.3 to 3 times its fair share, and its share is four messages a second at
   least.  Publishers have a few milliseconds of jitter: without it their phases would decide whose
   messages find a queue full.
4. Reports of subscribers travel against the data and take what they take of the links.
"""

from __future__ import annotations

from random import Random
from typing import Final

from penstock.lab.scenario.model import Access, Scenario
from penstock.lab.workloads.datagram.tables import DatagramPublisher, DatagramSubscriber
from penstock.papers.held_out.case import Case, CaseFlow
from penstock.papers.held_out.events import steady, step
from penstock.papers.held_out.guaranteed import fair_shares
from penstock.papers.held_out.network import (
    bottlenecks,
    brokers_of,
    limited,
    log_uniform,
    random_network,
)

SERVICE: Final = "datagram"
SOURCES: Final = (1, 8)
RECEIVERS: Final = (1, 3)
MESSAGE_BYTES: Final = (280.0, 1150.0)
"""A datagram of 1400 bytes has room for it and its tags; an empty message takes about 250."""
TURNS: Final = 5
"""Of so many messages in a row two or more are wanted; in turn, so that demands have no noise."""
RANGED_SHARE: Final = 0.5
"""The share of cases whose selectors ask for a range, which a publication record cannot tell from
other values; the others list the values."""
LOAD: Final = (0.3, 3.0)
LEAST_MSGS_PER_S: Final = 4.0
MOST_STEPS_PER_S: Final = 3500.0
"""Messages a second times links: what a simulation can afford."""
STEP_SHARE: Final = 0.3
ACCESS: Final = Access(latency_ms=1.0, jitter_ms=4.0)
DRAIN_S: Final = 10.0
REDRAWS: Final = 200


def draw(seed: int, random: Random) -> Case:
    """The case of a seed: the first draw whose shares can be seen and simulated."""
    for _ in range(REDRAWS):
        case = _draw(seed, random)
        if case is not None:
            return case
    raise RuntimeError(f"no datagram case for the seed {seed} in {REDRAWS} draws")


def _draw(seed: int, random: Random) -> Case | None:
    network = random_network(random)
    names = [f"d{number}" for number in range(random.randint(*SOURCES))]
    homes = {name: random.choice(network.brokers) for name in names}
    wanting = {}
    for name in names:
        others = [each for each in network.brokers if each != homes[name]]
        wanting[name] = random.sample(others, min(len(others), random.randint(*RECEIVERS)))
    trees = {name: network.tree(homes[name], wanting[name]) for name in names}
    used = list(dict.fromkeys(link for tree in trees.values() for link in tree))
    capacities = bottlenecks(random, used)
    plan = step(random, capacities) if random.random() < STEP_SHARE else steady(capacities)
    shares = fair_shares(trees, capacities)
    demands = {name: share * log_uniform(random, *LOAD) for name, share in shares.items()}
    steps = sum(demands[name] * (len(trees[name]) + 2) for name in names)
    low = max(MESSAGE_BYTES[0], steps / MOST_STEPS_PER_S)
    high = min(MESSAGE_BYTES[1], min(shares.values()) / LEAST_MSGS_PER_S)
    if low > high:
        return None
    size = round(log_uniform(random, low, high))
    ranged = random.random() < RANGED_SHARE
    clients: list[DatagramPublisher | DatagramSubscriber] = []
    flows = []
    for name in names:
        receivers = tuple(f"{name}-{broker}" for broker in wanting[name])
        wanted = random.randint(2, TURNS)
        clients += [
            DatagramSubscriber(
                service=SERVICE,
                role="subscriber",
                name=f"{name}-{broker}",
                broker=broker,
                selector=_selector(name, wanted, ranged=ranged),
            )
            for broker in wanting[name]
        ]
        clients.append(_publisher(name, homes[name], size, demands[name] * TURNS / wanted))
        uses = {link: 1.0 for link in trees[name] if link in capacities}
        flows.append(CaseFlow(name, SERVICE, uses, demands[name], size, receivers=receivers))
    return Case(
        seed,
        SERVICE,
        Scenario(
            name=f"held-out-{seed}",
            description=f"Held-out case {seed} of the {SERVICE} service.",
            duration_s=plan.duration_s,
            drain_s=DRAIN_S,
            brokers=brokers_of(network, {}),
            links=limited(network.links, capacities, plan.changes),
            clients=tuple(clients),
        ),
        tuple(flows),
        plan.phases,
    )


def _selector(name: str, wanted: int, *, ranged: bool) -> str:
    values = ", ".join(map(str, range(wanted)))
    return f"of = '{name}' AND " + (f"turn < {wanted}" if ranged else f"turn IN ({values})")


def _publisher(name: str, home: str, size: int, offered: float) -> DatagramPublisher:
    return DatagramPublisher(
        service=SERVICE,
        role="publisher",
        name=name,
        broker=home,
        access=ACCESS,
        attributes={"of": name, "turn": f"cycle:0..{TURNS}"},
        message_bytes=size,
        rate_msgs_per_s=offered / size,
    )

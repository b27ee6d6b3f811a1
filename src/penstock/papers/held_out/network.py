"""Random networks: brokers, links with latencies, and the trees that messages take.

1. A random tree of brokers; in some networks more links make cycles.
2. Latencies are log-uniform, so that a local network, a continent and the Earth are equally likely.
3. Messages take the shortest-path trees of the overlay itself.
4. The bottlenecks are chosen among the links that flows use; all other links are not limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from math import exp, log
from random import Random
from typing import Final

import msgspec

from penstock.lab.scenario.model import Broker, Link, LinkChange
from penstock.overlay.messages import LinkState
from penstock.overlay.routing import (
    SMALLEST_NAME,
    LinkStateDatabase,
    choices_of,
    chosen_parents,
    equal_parents_from,
)

BROKERS: Final = (3, 12)
LATENCY_MS: Final = (1.0, 300.0)
CAPACITY_BYTES_PER_S: Final = (20e3, 2e6)
BOTTLENECKS: Final = (1, 3)
CYCLES: Final = 0.4
"""The share of networks that are no trees."""
JITTER: Final = 0.2
"""Up to this part of its latency a link's latency varies, in half of the networks."""


def log_uniform(random: Random, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return exp(random.uniform(log(low), log(high)))


class Network(msgspec.Struct, frozen=True):
    """Brokers and links that are not limited yet."""

    brokers: tuple[str, ...]
    links: tuple[Link, ...]

    def tree(
        self, source: str, receivers: Iterable[str], choice: int = SMALLEST_NAME
    ) -> dict[str, int]:
        """The directed links from a broker to others, and how many receivers are behind each.

        ``choice`` is the one of several equal paths.
        """
        parents = chosen_parents(equal_parents_from(source, self._costs()), choice)
        behind: dict[str, int] = {}
        for receiver in dict.fromkeys(receivers):
            at = receiver
            while at != source:
                link = f"{parents[at]}->{at}"
                behind[link] = behind.get(link, 0) + 1
                at = parents[at]
        return behind

    def choices(self, homes: Sequence[str]) -> list[int]:
        """The choice of each pubend among equal paths, for pubends at these brokers in turn."""
        known = LinkStateDatabase()
        for broker, costs in self._costs().items():
            pubends = tuple(f"{broker}.{number}" for number in range(homes.count(broker)))
            known.learn(LinkState(broker, 1, 1, costs, pubends))
        taken = {home: cycle(choices_of(home, known)) for home in homes}
        return [next(taken[home]) for home in homes]

    def round_trip_s(self, tree: Iterable[str]) -> float:
        """At most so long a message and its answer take on the links of a tree, without queues."""
        latencies = {frozenset(each.between): each.latency_ms for each in self.links}
        return 2e-3 * sum(latencies[frozenset(link.split("->"))] for link in tree)

    def _costs(self) -> dict[str, dict[str, int]]:
        costs: dict[str, dict[str, int]] = {each: {} for each in sorted(self.brokers)}
        for link in self.links:
            first, second = link.between
            costs[first][second] = costs[second][first] = link.cost
        return {each: dict(sorted(near.items())) for each, near in costs.items()}


def random_network(random: Random) -> Network:
    """A connected network."""
    names = tuple(f"b{number}" for number in range(random.randint(*BROKERS)))
    pairs = [(names[random.randrange(at)], names[at]) for at in range(1, len(names))]
    others = [
        (first, second)
        for at, first in enumerate(names)
        for second in names[at + 1 :]
        if (first, second) not in pairs
    ]
    if others and random.random() < CYCLES:
        pairs += random.sample(others, min(len(others), random.randint(1, 3)))
    jitter = random.choice((0.0, JITTER))
    return Network(names, tuple(_link(random, pair, jitter) for pair in pairs))


def _link(random: Random, pair: tuple[str, str], jitter: float) -> Link:
    latency_ms = round(log_uniform(random, *LATENCY_MS), 1)
    return Link(
        between=pair,
        latency_ms=latency_ms,
        jitter_ms=round(random.uniform(0, jitter) * latency_ms, 2),
        cost=random.randint(1, 10),
    )


def bottlenecks(random: Random, used: Sequence[str]) -> dict[str, float]:
    """Capacities of some of the links that flows use, in the direction in which they use them."""
    pairs = list(dict.fromkeys(tuple(sorted(each.split("->"))) for each in used))
    chosen = random.sample(pairs, min(len(pairs), random.randint(*BOTTLENECKS)))
    found: dict[str, float] = {}
    for pair in chosen:
        capacity = float(round(log_uniform(random, *CAPACITY_BYTES_PER_S)))
        # A link has the same capacity in both directions.
        found |= {each: capacity for each in used if tuple(sorted(each.split("->"))) == pair}
    return found


def limited(
    links: Sequence[Link],
    capacities: Mapping[str, float],
    changes: Mapping[str, tuple[float, float]],
) -> tuple[Link, ...]:
    """The links with their limits; ``changes`` are a second and the capacity from then on."""
    return tuple(_limited(link, capacities, changes) for link in links)


def _limited(
    link: Link, capacities: Mapping[str, float], changes: Mapping[str, tuple[float, float]]
) -> Link:
    first, second = link.between
    for name in (f"{first}->{second}", f"{second}->{first}"):
        if name in capacities:
            planned = changes.get(name)
            return msgspec.structs.replace(
                link,
                bandwidth_bytes_per_s=round(capacities[name]),
                changes=()
                if planned is None
                else (LinkChange(at_s=planned[0], bandwidth_bytes_per_s=round(planned[1])),),
            )
    return link


def brokers_of(network: Network, keys: Mapping[str, dict[str, object]]) -> tuple[Broker, ...]:
    """The brokers with the keys of services."""
    return tuple(Broker(name=each, keys=keys.get(each, {})) for each in network.brokers)

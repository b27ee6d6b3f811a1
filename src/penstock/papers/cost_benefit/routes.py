"""The trees of a scenario's senders, reduced to the links that can be congested.

The networks of the scenarios are trees, so that there is one path between two brokers: it goes up
from each to where both meet.  Links with the largest bandwidth carry whatever the others let
through; they add their latency, and only a sender's own packets wait, on its first link.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import msgspec

from penstock.overlay.routing import parents_from
from penstock.papers.cost_benefit.scenario import LinkPlan, MulticastScenario, SenderPlan

NOWHERE: Final = -1
"""The parent of a link that is the first on its path."""


class Route(msgspec.Struct, frozen=True):
    """The path of one sender plan's packets: links as (index, parent's index, delay before)."""

    links: tuple[tuple[int, int, float], ...]
    delays_s: tuple[float, ...]
    """From each link's broker back to the sender."""
    round_trip_s: float
    access_s: float
    """The time of a packet on the sender's first link, if that is not one of these."""


def narrow_routes(scenario: MulticastScenario) -> tuple[list[LinkPlan], list[Route]]:
    """The links that can be congested, one direction each, and every sender's route over them."""
    network = _Network(scenario)
    routes = [network.route(sender) for sender in scenario.senders]
    return network.narrow, routes


class _Network:
    def __init__(self, scenario: MulticastScenario) -> None:
        brokers = scenario.brokers
        if len(scenario.links) != len(brokers) - 1:
            raise ValueError(f"{scenario.name}: arrays need a network that is a tree")
        self.narrow: list[LinkPlan] = []
        self._groups = scenario.groups
        self._index: dict[tuple[str, str], int] = {}
        self._plans: dict[tuple[str, str], LinkPlan] = {}
        graph: dict[str, dict[str, int]] = {name: {} for name in brokers}
        for plan in scenario.links:
            here, there = plan.ends
            graph[here][there] = graph[there][here] = 1
            self._plans[here, there] = self._plans[there, here] = plan
        rates = {each.mbit_per_s for each in scenario.links}
        self._free_above = max(rates - {max(rates)}, default=max(rates))
        self._parents = parents_from(brokers[0], graph)

    def _up(self, broker: str) -> list[str]:
        way = [broker]
        while way[-1] in self._parents:
            way.append(self._parents[way[-1]])
        return way

    def _path(self, start: str, end: str) -> list[tuple[str, str]]:
        """The links of the path between two brokers."""
        up, down = self._up(start), self._up(end)
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        way = up + down[-2::-1]
        return list(pairwise(way))

    def route(self, sender: SenderPlan) -> Route:
        """The tree from a sender's broker to all members of its groups."""
        ends: dict[tuple[str, str], None] = {}
        for group in sender.groups:
            for member in self._groups[group]:
                ends.update(dict.fromkeys(self._path(sender.broker, member)))
        placed: dict[str, tuple[int, float]] = {sender.broker: (NOWHERE, 0.0)}
        distance_s = {sender.broker: 0.0}
        links: list[tuple[int, int, float]] = []
        delays_s = []
        for here, there in ends:
            plan = self._plans[here, there]
            latency_s = plan.latency_ms / 1000
            parent, before_s = placed[here]
            distance_s[there] = distance_s[here] + latency_s
            if plan.mbit_per_s > self._free_above:
                placed[there] = (parent, before_s + latency_s + 1 / plan.packets_per_s)
                continue
            index = self._narrow_index(here, there, plan)
            links.append((index, parent, before_s))
            delays_s.append(distance_s[here])
            placed[there] = (index, 0.0)
        first = self._plans[next(iter(ends))]
        access_s = 1 / first.packets_per_s if first.mbit_per_s > self._free_above else 0.0
        return Route(tuple(links), tuple(delays_s), 2 * max(distance_s.values()), access_s)

    def _narrow_index(self, here: str, there: str, plan: LinkPlan) -> int:
        index = self._index.get((here, there))
        if index is None:
            index = self._index[here, there] = len(self.narrow)
            self.narrow.append(msgspec.structs.replace(plan, ends=(here, there)))
        return index

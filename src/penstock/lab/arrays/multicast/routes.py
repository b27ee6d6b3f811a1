"""The trees of a scenario's senders, reduced to the links that can be congested.

The networks must be trees, so that there is one path between two brokers: it goes up from each to
where both meet.  Links with the largest bandwidth carry whatever the others let through; they add
their latency, and only a sender's own packets wait, on its first link.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import inf
from typing import Final

import msgspec

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Link, Scenario
from penstock.overlay.routing import parents_from

NOWHERE: Final = -1
"""The parent of a link that is the first on its path."""


class Route(msgspec.Struct, frozen=True):
    """The path of packets from one broker to some groups."""

    links: tuple[tuple[int, int, float], ...]
    """Index of the link, index of its parent, seconds between the two."""
    delays_s: tuple[float, ...]
    """From each link's broker back to the sender."""
    round_trip_s: float
    access_s: float
    """The time of a packet on the sender's first link, if that is not one of these."""


class Direction(msgspec.Struct, frozen=True):
    """One direction of a link that can be congested."""

    link: Link
    here: str
    there: str


class Routes:
    """Computes routes; ``narrow`` are the links that any of them crosses and that can be full."""

    def __init__(
        self, scenario: Scenario, receivers: Mapping[str, list[str]], packet_bytes: int
    ) -> None:
        """``receivers`` are the brokers with members of each group."""
        brokers = sorted(each.name for each in scenario.brokers)
        if len(scenario.links) != len(brokers) - 1:
            raise ScenarioError(f"scenario {scenario.name!r}: arrays need a network that is a tree")
        self.narrow: list[Direction] = []
        self._receivers = receivers
        self._packet_bytes = packet_bytes
        self._index: dict[tuple[str, str], int] = {}
        self._links: dict[tuple[str, str], Link] = {}
        graph: dict[str, dict[str, int]] = {name: {} for name in brokers}
        for link in scenario.links:
            here, there = link.between
            graph[here][there] = graph[there][here] = 1
            self._links[here, there] = self._links[there, here] = link
        rates = {_rate(each) for each in scenario.links}
        self._free_above = max(rates - {max(rates)}, default=max(rates))
        self._parents = parents_from(brokers[0], graph)
        if len(self._parents) != len(brokers) - 1:
            raise ScenarioError(f"scenario {scenario.name!r}: arrays need a network that is a tree")

    def route(self, broker: str, groups: tuple[str, ...]) -> Route:
        """The tree from a broker to all members of some groups."""
        ends: dict[tuple[str, str], None] = {}
        for group in groups:
            for receiver in self._receivers.get(group, ()):
                ends.update(dict.fromkeys(self._path(broker, receiver)))
        placed: dict[str, tuple[int, float]] = {broker: (NOWHERE, 0.0)}
        distance_s = {broker: 0.0}
        links: list[tuple[int, int, float]] = []
        delays_s = []
        for here, there in ends:
            link = self._links[here, there]
            latency_s = link.latency_ms / 1000
            parent, before_s = placed[here]
            distance_s[there] = distance_s[here] + latency_s
            if _rate(link) > self._free_above:
                placed[there] = (parent, before_s + latency_s + self._packet_s(link))
                continue
            index = self._narrow_index(here, there, link)
            links.append((index, parent, before_s))
            delays_s.append(distance_s[here])
            placed[there] = (index, 0.0)
        access_s = 0.0
        if ends:
            first = self._links[next(iter(ends))]
            access_s = self._packet_s(first) if _rate(first) > self._free_above else 0.0
        return Route(tuple(links), tuple(delays_s), 2 * max(distance_s.values()), access_s)

    def _packet_s(self, link: Link) -> float:
        return self._packet_bytes / _rate(link)

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
        return list(pairwise(up + down[-2::-1]))

    def _narrow_index(self, here: str, there: str, link: Link) -> int:
        index = self._index.get((here, there))
        if index is None:
            index = self._index[here, there] = len(self.narrow)
            self.narrow.append(Direction(link, here, there))
        return index


def _rate(link: Link) -> float:
    return link.bandwidth_bytes_per_s or inf

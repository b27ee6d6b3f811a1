"""What the applications at all gossip peers saw, and how far the publications came.

The *receivers* of an event are the peers of its group that were present when it was published and
have it, its publisher included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from penstock.core.clock import SECOND, Instant
from penstock.lab.oracle.gossip.judge import RULES, judge
from penstock.lab.oracle.gossip.peers import (
    NOT_PUBLISHED,
    UNKNOWN_EVENT,
    Integers,
    PeerHistory,
    Publications,
)
from penstock.lab.oracle.history import Events, Instants, Metric, Values, counted
from penstock.lab.oracle.judgement import Judgement

ATOMIC_SHARE: Final = 0.95
"""*Atomic* means received by at least this share of the peers (Section 4 of the paper)."""

METRICS: Final[Mapping[str, Metric]] = {
    "receivers": Metric("the share of the peers that received an event", "sample"),
    "atomic": Metric("1 if an event reached at least 95 % of the peers, else 0", "sample"),
    "delivered": Metric("events that applications received from other peers"),
    "delay_s": Metric("seconds from a publication to a delivery", "sample", True),
    "offered": Metric("publications that fell due"),
    "published": Metric("publications that the peers broadcast"),
    "blocked": Metric("publications that fell due while others waited, and were left out"),
    "refused": Metric("publications that the peers refused"),
    **{rule: Metric(meaning, "rule") for rule, meaning in RULES.items()},
}


class Reach(NamedTuple):
    """How far each publication came; ``publisher`` is the index of a peer."""

    publisher: Integers
    published_at: Instants
    share: Values


class GossipHistory:
    """What the applications at all peers saw."""

    def __init__(self) -> None:
        self.publications = Publications()
        self.peers: dict[str, PeerHistory] = {}
        self._reach: tuple[tuple[int, int], Reach] | None = None

    def start(self, name: str, group: str, *, now: Instant, remembers_events: int) -> PeerHistory:
        """A peer starts, or starts again."""
        peer = self.peers.get(name)
        if peer is None:
            index = len(self.peers)
            peer = PeerHistory(name, index, group, self.publications, remembers_events)
            self.peers[name] = peer
        peer.start(now=now)
        return peer

    @property
    def delivered(self) -> int:
        """Events that all applications received from other peers."""
        return sum(peer.delivered for peer in self.peers.values())

    @property
    def pending(self) -> int:
        """Publications that wait at peers that are still there."""
        return sum(peer.waiting for peer in self.peers.values() if peer.present)

    def complete(self) -> bool:
        """Gossip is probabilistic: no single delivery has to happen."""
        return True

    def judge(self) -> Judgement:
        """Apply the rules of the service."""
        return judge(self.publications, self.peers.values())

    def events(self, metric: str) -> Mapping[str, Events]:
        """By publisher for what is about publications, by receiver for deliveries."""
        match metric:
            case "receivers":
                return self._by_publisher(self.reach().share)
            case "atomic":
                return self._by_publisher((self.reach().share >= ATOMIC_SHARE).astype(np.float64))
            case "delivered":
                return {name: counted(at) for name, at, _ in self._deliveries()}
            case "delay_s":
                return {name: self._delays(at, of) for name, at, of in self._deliveries()}
        return {
            peer.name: counted(getattr(peer, f"{metric}_at"))
            for peer in self.peers.values()
            if peer.offered_at
        }

    def totals(self) -> Iterator[tuple[str, str, int]]:
        """The counts of every peer, for the record of a run."""
        for peer in self.peers.values():
            for metric in ("offered", "published", "blocked", "refused"):
                yield peer.name, metric, len(getattr(peer, f"{metric}_at"))
            yield peer.name, "delivered", peer.delivered

    # -- what is computed -------------------------------------------------------------------

    def reach(self) -> Reach:
        """How far every publication came so far."""
        state = (sum(len(peer.published_at) for peer in self.peers.values()), self.delivered)
        if self._reach is None or self._reach[0] != state:
            self._reach = (state, self._computed_reach())
        return self._reach[1]

    def _computed_reach(self) -> Reach:
        at = np.array(self.publications.published_at, np.int64)
        publisher = np.array(self.publications.publisher, np.int64)
        group_names = list(dict.fromkeys(peer.group for peer in self.peers.values()))
        group = np.array([group_names.index(peer.group) for peer in self.peers.values()], np.int64)
        received, audience = np.zeros(len(at)), np.zeros(len(at))
        for peer in self.peers.values():
            present = peer.was_present(at) & (group[publisher] == group[peer.index])
            audience += present
            numbers = np.unique(peer.numbers)
            numbers = numbers[numbers != UNKNOWN_EVENT]
            received[numbers] += present[numbers]
        known = at != NOT_PUBLISHED
        return Reach(publisher[known], at[known], received[known] / np.maximum(audience[known], 1))

    def _by_publisher(self, values: Values) -> Mapping[str, Events]:
        reach = self.reach()
        found = {}
        for peer in self.peers.values():
            own = reach.publisher == peer.index
            if own.any():
                found[peer.name] = Events(reach.published_at[own], values[own])
        return found

    def _deliveries(self) -> Iterator[tuple[str, Instants, Integers]]:
        """For each peer the instants and the event numbers of its deliveries."""
        publisher = np.append(np.array(self.publications.publisher, np.int64), UNKNOWN_EVENT)
        for peer in self.peers.values():
            others = publisher[peer.numbers] != peer.index
            yield peer.name, peer.since[others], peer.numbers[others]

    def _delays(self, at: Instants, numbers: Integers) -> Events:
        published_at = np.append(np.array(self.publications.published_at, np.int64), NOT_PUBLISHED)
        since = published_at[numbers]
        known = since != NOT_PUBLISHED
        return Events(at[known], (at[known] - since[known]) / SECOND)

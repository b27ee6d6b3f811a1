"""The gossip service in the laboratory."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from penstock.core.clock import Instant
from penstock.lab.arrays.gossip.world import ArrayWorld
from penstock.lab.oracle.gossip.history import METRICS, GossipHistory
from penstock.lab.scenario.curve import Curve, NotACurve, points_of
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Scenario
from penstock.lab.service import LabService, NetStage, RandomPart, Stage, parameters_of
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.gossip.applications import PeerApplication
from penstock.lab.workloads.gossip.machines import SimulatedPeer
from penstock.lab.workloads.gossip.random_part import random_part
from penstock.lab.workloads.gossip.rounds import SKIPPED
from penstock.lab.workloads.gossip.tables import (
    SERVICE,
    GossipPeer,
    peer_parameters,
    peers_of,
)
from penstock.services.gossip.parameters import GossipParameters
from penstock.services.gossip.telemetry import (
    ALLOWED,
    DROPPED,
    DROPPED_AGES,
    GROUP_SIZE,
    ROUNDS,
)

ROLES: Final = {"peer": GossipPeer}

TELEMETRY: Final = frozenset(
    (
        ALLOWED,
        ROUNDS,
        SKIPPED,
        "published_messages",
        "publications_waiting",
        "delivered_messages",
        DROPPED,
        DROPPED_AGES,
        "buffer_events",
        "minimum_buffer_events",
        "average_drop_age",
        "average_tokens",
        "copies_for_each_event",
        "receipt_share",
        GROUP_SIZE,
        "members_known",
        "refused_datagrams",
        "refused_events",
    )
)
"""What every peer records of itself, by its name and its group."""


class GossipLab(LabService):
    """Broadcast among peers, without brokers."""

    name = SERVICE
    roles = ROLES
    client_parameters = GossipParameters
    metrics = METRICS
    telemetry = TELEMETRY

    def check(self, scenario: Scenario) -> None:
        """Check the curves and parameters of all peers; raises ``ScenarioError``."""
        parameters_of(GossipParameters, scenario, SERVICE, {})
        for peer in peers_of(scenario):
            where = f"clients {peer.name!r}"
            _check_curve(peer.rate_msgs_per_s, f"{where}.rate_msgs_per_s")
            if peer.buffer_events is not None:
                _check_curve(peer.buffer_events, f"{where}.buffer_events")
                _check_buffers(peer.buffer_events, f"{where}.buffer_events")
            if peer.parameters:
                peer_parameters(peer, scenario)

    def history(self, scenario: Scenario) -> GossipHistory:
        """The empty history of a run."""
        return GossipHistory()

    def machine(self, client: GossipPeer, history: GossipHistory, stage: Stage) -> SimulatedPeer:
        """A peer for the simulated world."""
        return SimulatedPeer(client, history, stage)

    def application(
        self, client: GossipPeer, history: GossipHistory, stage: NetStage
    ) -> PeerApplication:
        """A peer for the network world."""
        return PeerApplication(client, history, stage)

    def random_part(self, random: Random, starts_s: Mapping[str, float]) -> RandomPart:
        """A small group with short rounds, of which some peers come and go."""
        return random_part(random)

    def arrays(self, scenario: Scenario, seed: int, telemetry: Telemetry) -> ArrayWorld:
        """The group as arrays, for thousands of peers."""
        return ArrayWorld(scenario, seed, telemetry)

    def stopped(self, client: GossipPeer, history: GossipHistory, now: Instant) -> None:
        """A peer is no longer part of the audience."""
        if client.name in history.peers:
            history.peers[client.name].stop(now=now)


def _check_curve(curve: Curve, where: str) -> None:
    try:
        points_of(curve)
    except NotACurve as error:
        raise ScenarioError(f"{where}: {error}") from None


def _check_buffers(curve: Curve, where: str) -> None:
    for point in points_of(curve):
        if point.value < 1 or point.value != int(point.value):
            raise ScenarioError(
                f"{where}: {point.value:g} is not a number of events; use 1 or more"
            )

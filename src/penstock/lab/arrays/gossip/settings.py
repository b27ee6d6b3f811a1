"""What the arrays take from a scenario: one group, from beginning to end the same."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from penstock.core.clock import in_seconds
from penstock.lab.scenario.curve import points_of
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.gossip.tables import GossipPeer, peer_parameters, peers_of
from penstock.services.gossip.parameters import GossipParameters


class GroupSettings(msgspec.Struct, frozen=True):
    """A group of peers that differ only in what they offer."""

    parameters: GossipParameters
    names: tuple[str, ...]
    rates_msgs_per_s: NDArray[np.float64]
    """What each peer offers."""
    loss: float

    @property
    def period_s(self) -> float:
        """The gossip period T."""
        return in_seconds(self.parameters.gossip_period_ns)

    @property
    def senders(self) -> NDArray[np.int64]:
        """The peers that publish."""
        return np.flatnonzero(self.rates_msgs_per_s)


def group_settings(scenario: Scenario) -> GroupSettings:
    """The group of a scenario with single tables; raises ``ScenarioError`` for what is no array."""
    for problem in _problems(scenario):
        raise ScenarioError(
            f"{scenario.name}: {problem} cannot run as arrays; use --world sim or --world net"
        )
    peers = peers_of(scenario)
    parameters = peer_parameters(peers[0], scenario)
    buffer = peers[0].buffer_events
    if buffer is not None:
        events = int(points_of(buffer)[0].value)
        parameters = msgspec.structs.replace(parameters, buffer_events=events)
    return GroupSettings(
        parameters,
        tuple(peer.name for peer in peers),
        np.array([points_of(peer.rate_msgs_per_s)[0].value for peer in peers]),
        scenario.peer_network.loss,
    )


def _problems(scenario: Scenario) -> Iterator[str]:
    peers = peers_of(scenario)
    if len(peers) != len(scenario.clients) or scenario.brokers or not peers:
        yield "other clients than gossip peers"
    if scenario.faults:
        yield "faults"
    if any(peer.start_s or peer.stop_s is not None for peer in peers):
        yield "peers that come and go"
    if any(_changes(peer) for peer in peers):
        yield "rates and buffers that change"
    if any(peer.parameters != peers[0].parameters for peer in peers):
        yield "peers with different parameters"
    if any(peer.buffer_events != peers[0].buffer_events for peer in peers):
        yield "peers with different buffers"


def _changes(peer: GossipPeer) -> bool:
    curves = [peer.rate_msgs_per_s]
    if peer.buffer_events is not None:
        curves.append(peer.buffer_events)
    return any(len(points_of(curve)) > 1 for curve in curves)

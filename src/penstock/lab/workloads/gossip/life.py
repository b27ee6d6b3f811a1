"""A gossip peer from its start to its stop: what both worlds need to begin one.

A peer that starts again is a new one at the old name: it draws other random numbers, so that the
identifiers of its events differ, and it remembers nothing.
"""

from __future__ import annotations

import msgspec

from penstock.core.randomness import random_stream
from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.scenario.curve import step_at
from penstock.lab.service import Stage
from penstock.lab.workloads.gossip.contacts import known_at_start
from penstock.lab.workloads.gossip.program import PeerProgram
from penstock.lab.workloads.gossip.rounds import RoundCount
from penstock.lab.workloads.gossip.tables import GossipPeer, peer_parameters
from penstock.services.gossip.parameters import GossipParameters


class PeerLife(msgspec.Struct, frozen=True):
    """The beginning of a peer."""

    parameters: GossipParameters
    seed: str
    contacts: tuple[str, ...]
    """The names of the members that it knows."""
    program: PeerProgram
    rounds: RoundCount


def begun_life(client: GossipPeer, history: GossipHistory, stage: Stage) -> PeerLife:
    """Start a peer now, for the first time or again, and its history."""
    parameters = peer_parameters(client, stage.scenario)
    own = history.start(
        client.name, parameters.group, now=stage.now, remembers_events=parameters.known_events
    )
    number = len(own.lives)
    start_s = client.start_s if number == 1 else stage.second(stage.now)
    if client.buffer_events is not None:
        buffer_events = int(step_at(client.buffer_events, start_s))
        parameters = msgspec.structs.replace(parameters, buffer_events=buffer_events)
    seed = str(stage.seed) if number == 1 else f"{stage.seed}/{number}"
    random = random_stream(seed, client.name, "offers")
    return PeerLife(
        parameters,
        seed,
        known_at_start(client, parameters, stage.scenario, seed, start_s),
        PeerProgram(client, own, stage, random),
        RoundCount(parameters.gossip_period_ns),
    )

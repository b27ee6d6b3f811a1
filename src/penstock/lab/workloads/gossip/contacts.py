"""Which members a peer knows when it starts.

The first peers of a group start together and know a random view of each other.  Whoever starts
later, or again, is told a few of the peers that are present.
"""

from __future__ import annotations

from penstock.core.randomness import random_stream
from penstock.lab.scenario.model import Scenario
from penstock.lab.workloads.gossip.tables import GossipPeer, group_of, peers_of
from penstock.services.gossip.parameters import GossipParameters


def known_at_start(
    client: GossipPeer,
    parameters: GossipParameters,
    scenario: Scenario,
    seed: int | str,
    start_s: float,
) -> tuple[str, ...]:
    """The names of the members that a peer is told when it starts at this second."""
    others = [
        each
        for each in peers_of(scenario)
        if each.name != client.name and group_of(each, scenario) == parameters.group
    ]
    present = [
        each.name
        for each in others
        if each.start_s < start_s and (each.stop_s is None or each.stop_s > start_s)
    ]
    together = [each.name for each in others if each.start_s == start_s]
    known, most = (present, client.contacts) if present else (together, parameters.view_size)
    random = random_stream(seed, client.name, "contacts")
    return tuple(random.sample(known, min(len(known), most)))

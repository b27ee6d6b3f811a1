"""A random gossip group for random scenarios.

Whatever happens to brokers, links and disks does not concern it: its peers need none.  Its rounds
are short, so that events spread within the few seconds of a random scenario.
"""

from __future__ import annotations

from random import Random

from penstock.core.clock import MILLISECOND
from penstock.lab.service import RandomPart
from penstock.lab.workloads.gossip.tables import SERVICE, GossipPeer


def random_part(random: Random) -> RandomPart:
    """A few peers, of which some come later and some go."""
    parameters = {
        "law": random.choice(("none", "paper", "improved", "improved")),
        "gossip_period_ns": random.choice((50, 100, 200)) * MILLISECOND,
        "fanout": random.choice((2, 4)),
        "buffer_events": random.choice((3, 10, 90)),
        "view_size": random.choice((3, 30)),
        "datagram_bytes": random.choice((1200, 1400, 65_000)),
        "adaptation": {"initial_rate_msgs_per_s": random.choice((1.0, 20.0))},
    }
    peers = tuple(_peer(random, number) for number in range(random.randint(2, 8)))
    return RandomPart(parameters={SERVICE: parameters}, clients=peers)


def _peer(random: Random, number: int) -> GossipPeer:
    start_s = random.choice((0.0, 0.0, 0.0, random.uniform(0, 3)))
    return GossipPeer(
        service=SERVICE,
        role="peer",
        name=f"g{number}",
        start_s=start_s,
        stop_s=random.choice((None, None, None, start_s + random.uniform(0.5, 3))),
        rate_msgs_per_s=random.choice((0.0, 5.0, 30.0)),
        payload_bytes=random.choice((16, 300)),
        stops=random.choice(("leave", "crash")),
        parameters=random.choice(({}, {}, {"group": "other"})),
    )

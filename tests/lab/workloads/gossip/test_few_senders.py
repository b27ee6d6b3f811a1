"""Two senders in a group of sixty use what the group can carry."""

from __future__ import annotations

import pytest

from penstock.lab.run import run
from penstock.lab.scenario.model import Measurement, PeerNetwork, Scenario
from penstock.lab.telemetry.measure import measure
from penstock.lab.workloads.gossip.tables import GossipPeer
from penstock.lab.worlds.choice import world_of

BUFFER = 30
IDEAL_MSGS_PER_S = 0.267 * BUFFER
"""What reaches 95 % (docs/papers/adaptive-gossip.md)."""


def test_two_senders_reach_nine_tenths_of_the_ideal_rate() -> None:
    peers = tuple(
        GossipPeer(
            service="gossip",
            name=f"p{number}",
            rate_msgs_per_s=1.5 * IDEAL_MSGS_PER_S if number < 2 else 0.0,
            buffer_events=float(BUFFER),
        )
        for number in range(60)
    )
    what = Scenario(
        name="two-senders",
        duration_s=600.0,
        drain_s=0.0,
        trace_interval_s=5.0,
        parameters={"gossip": {"datagram_bytes": 65_000}},
        peer_network=PeerNetwork(latency_ms=10.0),
        clients=peers,
    )
    result = run(world_of("sim", what, 1))
    window = {"from_s": 200, "to_s": 500}
    rates = [
        measure(result, Measurement(metric="published", subject=each, aggregate="rate", **window))
        for each in ("p0", "p1")
    ]
    assert sum(rates) >= 0.9 * IDEAL_MSGS_PER_S
    assert rates[0] == pytest.approx(rates[1], rel=0.15)
    reached = measure(result, Measurement(metric="receivers", aggregate="mean", **window))
    assert reached >= 0.945

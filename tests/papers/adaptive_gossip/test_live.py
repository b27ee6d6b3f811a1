"""A short run over real sockets, with all kinds of changes of a group."""

from __future__ import annotations

import msgspec
from penstock.papers.adaptive_gossip.live import LiveGroup, run_group
from penstock.papers.adaptive_gossip.live_rows import live_scenario, stormy_scenario


def test_a_storm_over_udp() -> None:
    """Changes of buffers, loss and churn; the machine may be busy, so bounds are loose."""
    scenario = msgspec.structs.replace(
        stormy_scenario(peers=20, rounds=36), warm_up_rounds=8, settle_rounds=10
    )
    group = LiveGroup(scenario, 1)
    seconds: list[float] = []
    result = run_group(group, seconds.append)
    assert len(seconds) == 36
    assert result.receivers > 0.75
    assert result.input_rate_msgs_per_s > 0.2 * scenario.offered_msgs_per_s
    assert 0 < group.rounds_kept <= 1.1
    newcomers = [name for name in group.endpoints if name.startswith("n")]
    assert len(newcomers) == 2, "a tenth of the peers must have been replaced"
    buffers = [
        endpoint.host.peers["default"].buffer.capacity for endpoint in group.endpoints.values()
    ]
    assert {20, 30} <= set(buffers)
    for endpoint in group.endpoints.values():
        endpoint.host.check_invariants()


def test_the_full_run_has_sixty_peers_with_a_third_of_the_papers_buffers() -> None:
    scenario = live_scenario("improved")
    assert (scenario.peers, scenario.parameters.buffer_events, scenario.rounds) == (60, 30, 240)
    assert round(scenario.offered_msgs_per_s) == 333

"""Gossip peers over real sockets; the machine may be busy, so bounds are loose."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND
from penstock.lab.oracle.gossip.history import GossipHistory
from penstock.lab.scenario.model import Scenario
from penstock.services.gossip.telemetry import ROUNDS
from tests.lab.workloads.gossip.groups import group, measured, run_in

ROUND_S = 0.1


def live(*args: dict[str, object], **parameters: object) -> Scenario:
    return group(
        *args,
        gossip_period_ns=100 * MILLISECOND,
        datagram_bytes=1400,
        adaptation={"initial_rate_msgs_per_s": 2.0},
        **parameters,  # type: ignore[arg-type]
    )


def test_a_storm_over_udp() -> None:
    """Loss, buffers that change, peers that leave, crash, join, and come back."""
    scenario = live(
        {"name": "p", "count": 6, "rate_msgs_per_s": 4.0, "buffer_events": [[0, 30], [1, 20]]},
        {"name": "q", "count": 6, "rate_msgs_per_s": 4.0},
        {"name": "l", "rate_msgs_per_s": 4.0, "stop_s": 1.5},
        {"name": "c", "rate_msgs_per_s": 4.0, "stop_s": 1.5, "stops": "crash"},
        {"name": "n", "count": 2, "rate_msgs_per_s": 4.0, "start_s": 1.5},
        duration_s=4.0,
        loss=0.1,
        faults=({"at_s": 1.0, "leave": "q0"}, {"at_s": 2.0, "come_back": "q0"}),
        buffer_events=30,
    )
    result = run_in("net", scenario)
    history = result.histories["gossip"]
    assert isinstance(history, GossipHistory)
    assert result.judgement.violations == 0, result.judgement.examples
    assert measured(result, "receivers", "mean", from_s=0.5, to_s=2.5) > 0.6
    assert measured(result, "delivered", subject="n") > 0
    assert [len(history.peers[name].lives) for name in ("p0", "q0", "l", "n1")] == [1, 2, 1, 1]
    assert not history.peers["l"].present
    buffers = result.telemetry.series("buffer_events", node="p0").values()
    assert {value for points in buffers for _, value in points} == {30, 20}


def test_the_records_have_the_names_of_the_clients_and_tell_what_was_skipped() -> None:
    result = run_in("net", live({"name": "p", "count": 3, "rate_msgs_per_s": 5.0}, duration_s=1.5))
    rounds = result.telemetry.series(ROUNDS, subject="default")
    assert {node for node, _ in rounds} == {"p0", "p1", "p2"}
    skipped = result.telemetry.series("skipped_rounds")
    for key, points in rounds.items():
        passed = (points[-1][0] - points[0][0]) / (100 * MILLISECOND)
        last = skipped[key][-1][1]
        assert abs(points[-1][1] + last - points[0][1] - passed) <= 1

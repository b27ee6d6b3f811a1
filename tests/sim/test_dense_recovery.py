"""A stream so dense that one unit of requests exceeds every queue and window on the path."""

from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.worlds.sim import SimRun

OVERFLOWING = {
    "name": "dense",
    "duration_s": 3,
    "drain_s": 20,
    "parameters": {"guaranteed": {"receive_window_bytes": 2_000_000, "answer_bytes": 100_000}},
    "brokers": [{"name": "pb", "pubends": 1}, {"name": "ib"}, {"name": "sb"}],
    "links": [
        {"between": ["pb", "ib"]},
        {"between": ["ib", "sb"], "bandwidth_bytes_per_s": 5_000_000, "queue_bytes": 250_000},
    ],
    "clients": [
        {"service": "guaranteed", "role": "subscriber", "name": "s", "broker": "sb"},
        {
            "service": "guaranteed",
            "role": "publisher",
            "name": "p",
            "broker": "pb",
            "rate_msgs_per_s": 80_000,
            "batch_rows": 128,
            "identity": "tick",
            "max_in_flight": 5_000,
            "attributes": {"topic": "dense"},
        },
    ],
}


def test_recovery_from_an_overflowing_link_starts_immediately() -> None:
    world = SimRun(parse_scenario(OVERFLOWING), 1, checked=True)
    result = run(world)
    assert world.world.links["ib", "sb"].dropped_messages > 50
    assert result.judgement.violations == 0
    # 80,000 messages per second for one second are about 9 MB, two seconds of the link; a recovery
    # that waits for repeated requests takes four times as long.
    assert (result.ended_at - result.started_at) / 1e9 < 10

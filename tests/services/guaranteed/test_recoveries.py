"""Recoveries that the memories of relays and the source answer in turn, behind a full link."""

from __future__ import annotations

from typing import Any

from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.papers.gryphon.measures import PUBLISHED, recovery_s

CUT_S, MENDED_S, END_S = 20.0, 25.0, 75.0
THIN = 583_000
"""Bytes a second; 1.06 MB/s are published while the link is down, 5 s long."""
WIRE_BYTES = 395


def scenario() -> dict[str, Any]:
    """A recovery at b2 and one at b3: b2's broker remembers for b3 what it was answered."""
    return {
        "name": "answered-in-turn",
        "duration_s": END_S,
        "drain_s": 60,
        "brokers": [{"name": "b0", "pubends": 1}, {"name": "b1"}, {"name": "b2"}, {"name": "b3"}],
        "links": [
            {"between": ["b0", "b1"], "latency_ms": 28.7, "bandwidth_bytes_per_s": 1_061_849},
            {"between": ["b1", "b2"], "latency_ms": 259.9, "bandwidth_bytes_per_s": THIN},
            {"between": ["b2", "b3"], "latency_ms": 197.7, "bandwidth_bytes_per_s": 1_668_773},
        ],
        "clients": [
            *(
                {
                    "service": "guaranteed",
                    "role": "subscriber",
                    "name": f"s-{broker}",
                    "broker": broker,
                }
                for broker in ("b1", "b2", "b3")
            ),
            {
                "service": "guaranteed",
                "role": "publisher",
                "name": "p",
                "broker": "b0",
                "rate_msgs_per_s": 3650,
                "batch_rows": 37,
                "max_in_flight": 370,
                "wire_bytes": WIRE_BYTES,
                "identity": "tick",
            },
        ],
        "faults": [
            {"at_s": CUT_S, "cut": ["b1", "b2"]},
            {"at_s": MENDED_S, "mend": ["b1", "b2"]},
        ],
    }


def test_answers_of_a_near_relay_do_not_hold_up_a_recovery_from_the_source() -> None:
    result = run(world_of("sim", parse_scenario(scenario()), seed=60085))

    assert measure(result, Measurement(metric="violations")) == 0
    # About 12 MB are to be sent again over the thin link, and live data has a tenth of it.
    assert recovery_s(result, "b2", MENDED_S) <= 30
    assert recovery_s(result, "b3", MENDED_S) <= 32
    published = [rate for at_s, rate in curve(result, PUBLISHED, "rate") if 60 <= at_s < END_S]
    assert sum(published) / len(published) * WIRE_BYTES > 0.95 * THIN

"""Recovery over links of any length, where nothing is congested: it ends, and slows nobody."""

from __future__ import annotations

import pytest

from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.papers.gryphon.measures import PUBLISHED, recovery_s

OUTAGE_S = 40.0
MENDED_S = 50.0
RATE = 120.0


def scenario(latency_ms: float) -> dict[str, object]:
    publisher = {
        "service": "guaranteed",
        "role": "publisher",
        "name": "p",
        "broker": "pb",
        "pubend": "pb.1",
        "rate_msgs_per_s": RATE,
        "identity": "tick",
    }
    subscriber = {"service": "guaranteed", "role": "subscriber", "name": "s", "broker": "sb"}
    return {
        "name": "long-link",
        "duration_s": 110,
        "drain_s": 20,
        "brokers": [{"name": "pb", "pubends": 1}, {"name": "ib"}, {"name": "sb"}],
        "links": [
            {"between": ["pb", "ib"], "latency_ms": 1},
            {"between": ["ib", "sb"], "latency_ms": latency_ms},
        ],
        "clients": [publisher, subscriber],
        "faults": [
            {"at_s": MENDED_S - OUTAGE_S, "cut": ["ib", "sb"]},
            {"at_s": MENDED_S, "mend": ["ib", "sb"]},
        ],
    }


@pytest.mark.parametrize("latency_ms", [0.5, 90, 420, 1000])
def test_an_outage_behind_a_long_link_is_made_up_and_slows_nobody(latency_ms: float) -> None:
    """With no cache that holds the outage, everything crosses the link again."""
    raw = scenario(latency_ms)
    raw["parameters"] = {"guaranteed": {"relay_cache_bytes": 1 << 16}}
    result = run(world_of("sim", parse_scenario(raw), seed=11))

    published = [rate for at_s, rate in curve(result, PUBLISHED, "rate") if 5 < at_s < 110]
    assert min(published) > 0.95 * RATE
    assert measure(result, Measurement(metric="violations")) == 0
    # The receive window of 10 s crosses the link once in a round trip, after the window has opened
    # from one unit to a hundred in seven; connecting and noticing the gap take five more.
    round_trip_s = 2 * latency_ms / 1000
    caught_up_s = (OUTAGE_S + 12 * round_trip_s) / max(1.0, 10 / max(round_trip_s, 1) - 1)
    assert recovery_s(result, "sb", MENDED_S) <= 1.3 * (caught_up_s + 12 * round_trip_s) + 2

"""TCP connections of other programs over the links of a run, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.cross_traffic import with_hosts
from penstock.lab.worlds.namespaces import Namespaces, NoNamespaces
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun
from penstock.lab.worlds.tcp_traffic import HEADERS_BYTES, TIME_STAMP_BYTES, data_bytes
from penstock.lab.worlds.world import UnsupportedHere

BANDWIDTH = 125_000
METRIC = "tcp_delivered_bytes"


def shared(*flows: dict[str, Any], rate_msgs_per_s: float = 0.0, **keys: Any) -> Scenario:
    """A link with cross traffic, and a datagram publisher if it has a rate."""
    common = {"service": "datagram"}
    clients = [
        {**common, "role": "subscriber", "name": "s", "broker": "far"},
        {
            **common,
            "role": "publisher",
            "name": "p",
            "broker": "near",
            "access": {"latency_ms": 1.0, "jitter_ms": 4.0},
            "rate_msgs_per_s": rate_msgs_per_s,
        },
    ]
    return parse_scenario(
        {
            "name": "shared",
            "duration_s": 20.0,
            "trace_interval_s": 0.25,
            "brokers": [{"name": "near"}, {"name": "far"}],
            "links": [
                {
                    "between": ["near", "far"],
                    "bandwidth_bytes_per_s": BANDWIDTH,
                    "datagram_bytes": 280,
                }
            ],
            "clients": clients if rate_msgs_per_s else [],
            "cross_traffic": [
                {"name": "tcp", "between": ["near", "far"], "segment_bytes": 280, **flow}
                for flow in flows
            ],
            **keys,
        }
    )


def rate(result: RunResult, subject: str, from_s: float, to_s: float) -> float:
    window = Measurement(
        metric=METRIC, subject=subject, node="run", from_s=from_s, to_s=to_s, aggregate="rate"
    )
    return measure(result, window)


# -- the simulated world ---------------------------------------------------------------------------


def test_a_connection_fills_a_link_from_its_start_to_its_stop() -> None:
    result = run(SimRun(shared({"start_s": 4.0, "stop_s": 12.0}), 1))
    assert rate(result, "tcp", 0.0, 4.0) == 0
    assert 0.9 < rate(result, "tcp", 6.0, 12.0) / BANDWIDTH <= 1.01
    assert rate(result, "tcp", 13.0, 20.0) == 0


def test_the_link_counts_the_connection_as_what_it_has_sent() -> None:
    result = run(SimRun(shared({}), 1))
    sent = Measurement(metric="link_bytes", subject="near->far")
    delivered = Measurement(metric=METRIC, aggregate="increase")
    assert measure(result, sent) >= measure(result, delivered) > 0


def test_two_connections_share_a_link() -> None:
    access = {"latency_ms": 1.0, "jitter_ms": 4.0}
    flows = ({"name": "one", "access": access}, {"name": "two", "access": access})
    result = run(SimRun(shared(*flows, duration_s=60.0), 1))
    rates = [rate(result, name, 10.0, 60.0) for name in ("one", "two")]
    assert sum(rates) > 0.9 * BANDWIDTH
    assert min(rates) > 0.3 * BANDWIDTH


@pytest.mark.parametrize(("law", "least", "most"), [("none", 0.0, 0.1), ("improved", 0.25, 0.75)])
def test_a_controlled_flow_leaves_a_connection_its_share(
    law: str, least: float, most: float
) -> None:
    keys = {"duration_s": 40.0, "parameters": {"datagram": {"law": law}}}
    flow = {"start_s": 5.0, "access": {"latency_ms": 1.0, "jitter_ms": 4.0}}
    result = run(SimRun(shared(flow, rate_msgs_per_s=500.0, **keys), 1))
    assert least <= rate(result, "tcp", 15.0, 40.0) / BANDWIDTH <= most


def test_a_connection_survives_a_cut_of_its_link() -> None:
    faults = [{"at_s": 5.0, "cut": ["near", "far"]}, {"at_s": 8.0, "mend": ["near", "far"]}]
    result = run(SimRun(shared({}, faults=faults), 1))
    assert rate(result, "tcp", 5.5, 8.0) == 0
    assert rate(result, "tcp", 15.0, 20.0) > 0.8 * BANDWIDTH


def test_a_run_depends_on_its_seed_alone() -> None:
    flow = {"access": {"latency_ms": 1.0, "jitter_ms": 4.0}}
    same = [
        run(SimRun(shared(flow, duration_s=5.0), seed, digested=True)).telemetry.series(METRIC)
        for seed in (1, 1, 2)
    ]
    assert same[0] == same[1] != same[2]


def test_cross_traffic_needs_a_link() -> None:
    with pytest.raises(ScenarioError, match=r"cross_traffic\[0\].between: there is no link"):
        shared({"between": ["near", "away"]})


# -- the network world -----------------------------------------------------------------------------


def test_loopback_cannot_carry_cross_traffic() -> None:
    with pytest.raises(UnsupportedHere, match="cross_traffic needs links that the kernel limits"):
        NetRun(shared({}), 1)


def test_every_connection_has_namespaces_of_its_own() -> None:
    ground = with_hosts(shared({"name": "one"}, {"name": "two"}))
    names = [each.name for each in ground.brokers]
    assert len(set(names)) == 6
    assert [set(link.between) <= set(names) for link in ground.links] == [True] * 5
    assert shared() == with_hosts(shared())


def test_a_segment_has_its_headers_beside_its_data() -> None:
    assert data_bytes(280) + HEADERS_BYTES + TIME_STAMP_BYTES == 280


def test_a_connection_of_the_kernel_crosses_the_link_of_the_brokers() -> None:
    try:
        layout = Namespaces()
    except NoNamespaces as why:
        pytest.skip(str(why))
    scenario = shared({"start_s": 1.0}, rate_msgs_per_s=50.0, duration_s=6.0)
    result = run(NetRun(scenario, 1, layout=layout))
    assert result.judgement.violations == 0, result.judgement.examples
    assert result.delivered > 0
    series = result.telemetry.series(METRIC, subject="tcp", node="run")["run", "tcp"]
    carried = [value for _, value in series]
    assert carried == sorted(carried)
    # The link cannot carry more, except for what waits in the receiver's own buffers at the start.
    assert 0 < carried[-1] < 1.2 * 5 * BANDWIDTH

"""What the laboratory knows of the gossip service."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock.lab.oracle.gossip.history import METRICS
from penstock.lab.oracle.gossip.judge import RULES
from penstock.lab.run import run
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Scenario
from penstock.lab.service import lab_services
from penstock.lab.workloads.gossip.service import TELEMETRY, GossipLab
from penstock.lab.worlds.sim import SimRun
from tests.lab.workloads.gossip.groups import group, run_in


def test_the_registry_names_it() -> None:
    assert isinstance(lab_services()["gossip"], GossipLab)


def test_every_rule_is_a_metric() -> None:
    assert {name for name, metric in METRICS.items() if metric.kind == "rule"} == set(RULES)


def test_the_metrics_that_peers_record_are_named() -> None:
    result = run_in("sim", group({"name": "p", "count": 2}, duration_s=20.0))
    assert set(result.telemetry.metrics()) == TELEMETRY


@pytest.mark.parametrize(
    ("client", "parameters", "error"),
    [
        ({"rate_msgs_per_s": []}, {}, r"clients 'p'\.rate_msgs_per_s: a curve needs"),
        ({"rate_msgs_per_s": [[5, 1], [4, 1]]}, {}, r"clients 'p'\.rate_msgs_per_s: the points"),
        ({"buffer_events": [[0, 9], [9, 0.5]]}, {}, r"clients 'p'\.buffer_events: 0\.5 is not"),
        ({"buffer_events": 0}, {}, r"clients 'p'\.buffer_events: 0 is not a number"),
        ({"payload_bytes": 4}, {}, r"payload_bytes.*>= 12"),
        ({"stops": "quietly"}, {}, r"stops"),
        ({"broker": "b"}, {}, r"clients 'p'\.broker: a client of gossip needs no broker"),
        ({"parameters": {"fan": 1}}, {}, r"parameters\.gossip\.fan: unknown key"),
        ({}, {"bufer_events": 9}, r"parameters\.gossip\.bufer_events: .*did you mean"),
    ],
)
def test_mistakes_are_refused_and_named(
    client: dict[str, Any], parameters: dict[str, Any], error: str
) -> None:
    with pytest.raises(ScenarioError, match=error):
        group({"name": "p", **client}, **parameters)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_group_breaks_no_rule(seed: int) -> None:
    part = GossipLab().random_part(Random(seed), {})
    scenario = Scenario(
        name="random",
        duration_s=4.0,
        drain_s=1.0,
        parameters=part.parameters,
        clients=part.clients,
    )
    world = SimRun(scenario, seed, checked=True)
    assert run(world).judgement.violations == 0


def test_random_groups_publish_and_receive() -> None:
    delivered = 0
    for seed in range(4):
        part = GossipLab().random_part(Random(seed), {})
        scenario = Scenario(
            name="random", duration_s=4.0, parameters=part.parameters, clients=part.clients
        )
        delivered += run(SimRun(scenario, seed)).delivered
    assert delivered > 0

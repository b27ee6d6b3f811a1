"""The paper's scenarios: files that can be read, and two engines that agree where both can run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock.lab.scenario.file import ScenarioError
from penstock.lab.service_runs import service_of
from penstock.papers.cost_benefit.arrays import run_arrays
from penstock.papers.cost_benefit.machines import payload_bytes, run_machines
from penstock.papers.cost_benefit.plans import all_plans
from penstock.papers.cost_benefit.result import MulticastResult
from penstock.papers.cost_benefit.rows import adaptation_s
from penstock.papers.cost_benefit.run import judge, prepare
from penstock.papers.cost_benefit.scenario import (
    LinkPlan,
    MulticastScenario,
    SenderPlan,
    load,
    star,
)
from penstock.papers.cost_benefit.tcp import run_tcp
from penstock.services.multicast.parameters import Law, MulticastParameters

SCENARIOS = Path(__file__).parents[3] / "src/penstock/papers/scenarios"
FILES = sorted(SCENARIOS.glob("multicast-*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_can_be_run(path: Path) -> None:
    assert service_of(path) == "multicast"
    scenario = prepare(path, "sim", 1).scenario
    assert scenario.warm_up_s < scenario.duration_s
    members = {broker for brokers in scenario.groups.values() for broker in brokers}
    assert members | {each.broker for each in scenario.senders} <= set(scenario.brokers)


def test_a_file_that_is_wrong_says_where(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text('service = "multicast"\nname = "x"\nlinks = 3\n')
    with pytest.raises(ScenarioError, match=r"wrong\.toml"):
        prepare(path, "sim", 1)


def test_every_plan_has_its_scenario() -> None:
    for plan in all_plans():
        assert plan.read().senders
        assert plan.parameters().law == plan.law


def test_the_large_scenario_is_the_papers() -> None:
    scenario = star(800, duration_s=10, warm_up_s=1)
    assert len(scenario.brokers) == 1602
    assert scenario.groups["g799"] == ("R799", "R0", "R1")


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_arrays_and_machines_agree(law: Law) -> None:
    """Same policies, same scenario; what arrays leave out must not show."""
    scenario = msgspec.structs.replace(load("multicast-2"), duration_s=9.0, warm_up_s=3.0)
    parameters = MulticastParameters(law=law)
    machines = run_machines(scenario, parameters, 1)
    arrays = run_arrays(scenario, parameters, 1)
    assert machines.total_mbit_per_s == pytest.approx(2.0, rel=0.03)
    assert arrays.total_mbit_per_s == pytest.approx(2.0, rel=0.03)
    assert arrays.highest == pytest.approx(machines.highest, abs=25)
    assert 0.004 < machines.control_share["E->G"] < 0.0055, "the paper's 0.5 %"


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_arrays_and_machines_agree_on_the_shape_of_scenario_4(law: Law) -> None:
    """A broker for each of twenty senders and twenty receivers, three receivers to a group."""
    scenario = star(20, duration_s=7.0, warm_up_s=3.0)
    parameters = MulticastParameters(law=law)
    machines = run_machines(scenario, parameters, 1)
    arrays = run_arrays(scenario, parameters, 1)
    assert arrays.total_mbit_per_s == pytest.approx(machines.total_mbit_per_s, rel=0.03)
    assert arrays.highest == pytest.approx(machines.highest, abs=25)
    assert arrays.jain == pytest.approx(machines.jain, abs=0.03)


def test_prices_ride_on_data_that_goes_their_way() -> None:
    """B to C is congested; what C sends to A passes B as the prices of B to C do."""
    scenario = MulticastScenario(
        service="multicast",
        name="both ways",
        links=(LinkPlan(("A", "B"), 10.0), LinkPlan(("B", "C"), 2.0)),
        groups={"at-c": ("C",), "at-a": ("A",)},
        senders=(SenderPlan("east", "A", ("at-c",)), SenderPlan("west", "C", ("at-a",))),
        duration_s=8.0,
        warm_up_s=4.0,
    )
    result = run_machines(scenario, MulticastParameters(), 1)
    assert result.ridden_share["B->A"] > 0.5
    assert result.class_mbit_per_s("east") == pytest.approx(2.0, rel=0.03)
    alone = run_machines(scenario, MulticastParameters(ride_wait_ns=0), 1)
    assert alone.ridden_share["B->A"] == 0
    assert result.control_share["B->C"] < alone.control_share["B->C"]


def test_a_chain_is_used_in_full_and_the_long_way_yields() -> None:
    """Scenario 3: of 10 Mbit/s the long sender costs four times what it gets."""
    scenario = msgspec.structs.replace(
        load("multicast-3"),
        senders=tuple(
            msgspec.structs.replace(each, start_s=0.0) for each in load("multicast-3").senders
        ),
        duration_s=10.0,
        warm_up_s=4.0,
    )
    result = run_arrays(scenario, MulticastParameters(law="paper"), 1)
    long = result.class_mbit_per_s("AF")
    assert result.total_mbit_per_s + 4 * long > 9.7
    assert long < 0.15


def test_a_link_costs_something_however_short_it_is() -> None:
    assert LinkPlan(("A", "B"), latency_ms=0.1).cost == 1
    assert LinkPlan(("A", "B"), latency_ms=15.0).cost == 15


def test_a_long_tcp_connection_gets_less_than_its_share() -> None:
    scenario = msgspec.structs.replace(load("multicast-3"), duration_s=45.0)
    result = run_tcp(scenario, 1)
    assert result.class_mbit_per_s("AF") < 0.5
    assert result.total_mbit_per_s > 8


def test_the_time_to_adapt() -> None:
    sent = {"acfg": [2.0, 2.0, 1.5, 1.0, 1.0, 1.0], "cdg": [0.0, 0.0, 0.5, 1.0, 1.0, 1.0]}
    result = MulticastResult({}, sent, {}, {}, 0.0)
    assert adaptation_s(result, 2, 1.0) == 2
    assert adaptation_s(result, 2, 5.0) == float("inf"), "never, within what was seen"


def test_expectations_are_judged() -> None:
    scenario = load("multicast-2")
    verdicts = judge(scenario, {"total_mbit_per_s": 1.0, "highest_buffer_packets": 20.0})
    assert [each.held for each in verdicts] == [False, True]
    assert len(judge(scenario, {"total_mbit_per_s": 2.0})) == 1, "nobody saw a buffer"


def test_a_packet_is_a_thousand_bytes() -> None:
    assert 800 < payload_bytes() < 900

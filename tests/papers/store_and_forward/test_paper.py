"""The alias queue paper as data: its scenarios, experiments and measures, and short runs of it."""

from __future__ import annotations

import pytest

from penstock.lab.experiments.experiment import Experiment, run_experiment, scenario_of
from penstock.lab.scenario.shortened import shortened
from penstock.papers.store_and_forward.experiments import EXPERIMENTS
from penstock.papers.store_and_forward.measures import throughput_msgs_per_s, total_reception_s
from penstock.papers.store_and_forward.paper import PAPER
from penstock.papers.store_and_forward.saturation import LOST, SATURATED, brokers, rate_msgs_per_s

SCENARIOS = {key: each for key, each in EXPERIMENTS.items() if isinstance(each, Experiment)}


@pytest.mark.parametrize("key", SCENARIOS)
def test_every_experiment_is_a_valid_scenario(key: str) -> None:
    scenario = scenario_of(SCENARIOS[key])
    assert scenario.services == ("queues",)
    assert scenario.expect


@pytest.mark.parametrize(
    ("key", "messages"), [("50/50 paper", 1_000_000), ("inverted live paper", 50_000)]
)
def test_production_lasts_as_long_as_in_the_paper(key: str, messages: int) -> None:
    scenario = scenario_of(SCENARIOS[key])
    produced = sum(
        each.count * each.rate_msgs_per_s * (scenario.duration_s - each.start_s)
        for each in scenario.clients
        if each.role == "producer"
    )
    assert produced == pytest.approx(messages)


@pytest.mark.parametrize("name", ["50/50", "70/30", "inverted"])
@pytest.mark.parametrize("law", ["paper", "quick improved"])
def test_a_twentieth_of_a_run_keeps_every_promise(name: str, law: str) -> None:
    result = run_experiment(SCENARIOS[f"{name} in 1/20 {law}"], 1)
    assert result.judgement.violations == 0
    assert 25.0 <= total_reception_s(result) < 28.0
    assert throughput_msgs_per_s(result) == pytest.approx(50_000 / total_reception_s(result))


def test_a_shortened_scenario_has_the_rates_of_the_long_one() -> None:
    scenario = scenario_of(SCENARIOS["inverted paper"])
    short = shortened(scenario, 20)
    assert [each.rate_msgs_per_s for each in short.clients[:1]] == [1000]
    assert short.clients[1].rate_msgs_per_s[1].at_s == pytest.approx(253 / 20)


def test_rows_that_need_processes_are_of_the_net_world() -> None:
    live = {row.run for row in PAPER.of_world("net").rows}
    assert {row.run for row in PAPER.of_world("sim").rows}.isdisjoint(live)
    assert all("(live)" in each for each in live)
    assert "saturated" not in PAPER.of_world("sim").experiments


@pytest.mark.parametrize("where", LOST)
def test_processes_of_their_own_send_and_consume_everything(where: str) -> None:
    direct, alias = LOST[where]
    assert {direct, alias} <= set(SATURATED)
    with brokers(direct.scenario) as urls:
        for each in (direct, alias):
            assert rate_msgs_per_s(each, urls, 2_000) > 0

"""The cost-benefit paper as data: every experiment can be read, and rows judge what they say."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.experiments.experiment import Experiment, Measure, scenario_of
from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.table import PaperRow
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.workloads.multicast.tables import GroupMember, GroupSender
from penstock.papers.cost_benefit.experiments import EXPERIMENTS, LAW, LAWS, STAR_SENDERS, star
from penstock.papers.cost_benefit.paper import PAPER

SMALL = {
    key: each
    for key, each in EXPERIMENTS.items()
    if isinstance(each, Experiment) and not key.startswith(("star 400", "star 800"))
}


@pytest.mark.parametrize("key", SMALL)
def test_every_experiment_has_a_scenario_that_can_be_read(key: str) -> None:
    experiment = SMALL[key]
    scenario = expanded(scenario_of(experiment), 1)
    assert scenario.parameters["multicast"]["law"] == experiment.overrides[LAW]
    members = [each for each in scenario.clients if isinstance(each, GroupMember)]
    senders = [each for each in scenario.clients if isinstance(each, GroupSender)]
    groups = {each.group for each in members}
    assert senders
    assert all(set(each.groups) <= groups for each in senders)
    assert all(each.wire_bytes == 1000 for each in senders)


def star_of(senders: int) -> Scenario:
    return expanded(scenario_of(Experiment("multicast-star", star(senders))), 1)


def test_the_large_scenario_is_the_papers() -> None:
    scenario = star_of(STAR_SENDERS[-1])
    assert len(scenario.brokers) == 1602
    of_last = [
        each.broker
        for each in scenario.clients
        if isinstance(each, GroupMember) and each.group == "g799"
    ]
    assert of_last == ["R799", "R0", "R1"]


def test_the_links_of_the_far_scenario_are_six_times_as_long() -> None:
    near, far = (
        {each.between: each.latency_ms for each in scenario_of(EXPERIMENTS[key]).links}
        for key in ("2 paper", "2 far paper")
    )
    assert far == {ends: 6 * latency_ms for ends, latency_ms in near.items()}


# -- rows ------------------------------------------------------------------------------------------


def good(experiment: str, measure: Measure) -> float:
    """What a run gives that has full links, fair shares and small buffers."""
    if isinstance(measure, str):
        return 0.01
    if callable(measure):
        name = measure.func.__name__ if hasattr(measure, "func") else measure.__name__  # type: ignore[attr-defined]
        return {"ridden_share": 0.5, "from_fair_share": 0.2, "worst_variation": 0.4}.get(name, 1.0)
    if measure.metric == "tcp_delivered_bytes":
        return 125_000
    if measure.metric == "link_price_bytes":
        return 20 * 64 if measure.subject == "E->G" else 20
    if measure.metric == "most_queued_bytes":
        return 90_000 if experiment == "lottery without" else 40_000
    if measure.aggregate in ("jain", "variation"):
        return 0.99 if measure.aggregate == "jain" else 0.004
    if experiment.startswith("3"):
        return 9.8 * 125
    if experiment.startswith("cairn"):
        return 1.3 * 125 if measure.subject == "b" else 1.5 * 125
    total = {"acfg": 2.0, "cdg": 1.0} if experiment.startswith("1") else {"acfg": 1.0, "cdg": 1.0}
    return 125 * total.get(measure.subject, 2.0)


def rows(**changed: Any) -> list[PaperRow]:
    """The table of good results, of which some are changed by experiment."""
    results = Results()
    for row in PAPER.rows:
        for of in row.needed():
            if of not in results._values:
                value = good(of.experiment, of.measure)
                change = changed.get(of.experiment.replace(" ", "_"), lambda measure, value: value)
                results.add(of, change(of.measure, value))
                results.ran(of.experiment, 1, (), 70.0)
    return [row.judged(PAPER.service, results) for row in PAPER.rows]


def find(table: list[PaperRow], run: str, metric: str) -> PaperRow:
    (found,) = (each for each in table if each.run == run and each.metric == metric)
    return found


def test_results_within_the_bars_are_reproduced_or_beaten() -> None:
    table = rows()
    assert {each.verdict for each in table} <= {"reproduced", "beaten"}, [
        each for each in table if each.verdict not in ("reproduced", "beaten")
    ]
    assert len({(each.run, each.metric) for each in table}) == len(table), "a row occurs twice"


def test_a_quarter_less_throughput_is_not_reproduced() -> None:
    def less(measure: Measure, value: float) -> float:
        return 0.75 * value

    names = ("1", "2", "3 throughput", "star 800", "cairn live")
    changed = [f"{name} {law}".replace(" ", "_") for name in names for law in LAWS]
    table = rows(**dict.fromkeys(changed, less))
    for run, metric in (
        ("1: two bottlenecks", "S_acfg sends"),
        ("2: fair share", "S_acfg sends"),
        ("3: chain of five", "all senders"),
        ("4: 800 senders, 1,602 brokers", "all senders"),
        ("chain of five (live)", "S1 of the link"),
    ):
        assert find(table, run, metric).verdict == "not reproduced", run


def test_a_bar_that_only_the_improved_law_meets_has_a_note() -> None:
    found = find(
        rows(star_5_paper=lambda measure, value: 215_000), "4: 5 senders", "highest buffer"
    )
    assert found.verdict == "beaten by the improved law only"
    assert "30 ms" in found.note


def test_arrays_that_differ_from_the_machines_are_not_reproduced() -> None:
    table = rows(star_machines_paper=lambda measure, value: value + 20_000)
    found = find(table, "4: 20 senders, arrays and machines", "difference of highest buffer")
    assert (found.paper_law, found.improved_law) == (20, 0)
    assert found.verdict == "not reproduced"


def test_the_lottery_must_lower_the_buffer_by_a_quarter() -> None:
    table = rows(lottery_paper=lambda measure, value: 80_000)
    found = find(table, "randomisation, 100 streams on 2 Mbit/s: with", "highest buffer")
    assert found.bar == "≤ 67.5"
    assert found.verdict == "not reproduced"


def test_figures_show_every_experiment_that_they_name() -> None:
    assert len({each.name for each in PAPER.figures}) == 7
    of_laws = {each.experiment for figure in PAPER.figures for each in figure.measures()}
    assert Of("3 TCP", "AF 69") in {each for figure in PAPER.figures for each in figure.measures()}
    assert {"2 paper", "2 improved"} <= of_laws

"""The paper as data: every experiment can be read, and its numbers make the table."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from penstock.lab.experiments.drawing import draw
from penstock.lab.experiments.experiment import Experiment, Measure, scenario_of
from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.runner import jobs_of
from penstock.lab.experiments.table import PaperRow
from penstock.lab.scenario.metrics import check_measurement
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.papers.adaptive_gossip.measures import PLAIN
from penstock.papers.adaptive_gossip.paper import PAPER


@pytest.mark.parametrize("key", list(PAPER.experiments))
def test_every_experiment_is_a_scenario_in_which_its_measures_exist(key: str) -> None:
    single = expanded(scenario(key))
    measured = [of.measure for row in PAPER.rows for of in row.needed() if of.experiment == key]
    shown = [of.measure for each in PAPER.figures for of in each.measures() if of.experiment == key]
    assert measured or shown
    for what in (*measured, *shown):
        if isinstance(what, Measurement):
            check_measurement(single, key, what)
            assert (what.to_s or 0) < single.duration_s, "events need time to spread"


def test_the_largest_groups_run_with_one_seed_and_begin_first() -> None:
    jobs = jobs_of(PAPER, PAPER.of_world("sim"), 2)
    assert jobs[0].experiment.startswith("scale ")
    assert all(job.seed == 1 for job in jobs if " 10000" in job.experiment)
    assert len(jobs) == 2 * (3 + 8 + 17 + 2 + 2 * 5) + 5
    assert [pickle.loads(pickle.dumps(job)).title for job in jobs] == [job.title for job in jobs]


def test_the_live_runs_are_a_table_of_their_own() -> None:
    live = PAPER.of_world("net")
    assert live.experiments == {"live none", "live paper", "live improved", "live storm"}
    assert [row.metric for row in live.rows] == [
        "receivers",
        "input rate for each round",
        "receivers",
    ]


def scenario(key: str) -> Scenario:
    experiment = PAPER.experiments[key]
    assert isinstance(experiment, Experiment)
    return scenario_of(experiment)


def test_a_live_run_has_the_load_of_the_simulated_one() -> None:
    """The same messages for each round and buffer, with a third of the buffers."""
    live, simulated = (
        scenario_of(PAPER.experiments[f"{each} paper"]) for each in ("live", "dynamic")
    )  # type: ignore[arg-type]
    assert live.duration_s == 24.0
    for place in (0, 1):
        few, many = live.clients[place], simulated.clients[place]
        assert few.count == many.count
        assert few.rate_msgs_per_s * 0.1 / 30 == pytest.approx(many.rate_msgs_per_s * 5.0 / 90)
    assert [(step.at_s, step.value) for step in live.clients[0].buffer_events] == [
        (0, 30),
        (8, 15),
        (16, 20),
    ]


def made_up(of: Of) -> float:
    """A number according to theory: 95 % at 0.267 messages per second and buffer."""
    if "plain" not in of.experiment:
        return 0.96
    plain = scenario(of.experiment)
    offered = sum(each.count * each.rate_msgs_per_s for each in plain.clients)
    carried = 0.267 * plain.parameters["gossip"]["buffer_events"]
    theory: dict[Measure, float] = {
        PLAIN.receivers: 1 - 0.05 ** (carried / offered),
        PLAIN.rate: offered,
        PLAIN.drop_age: 5.3 * carried / offered,
        PLAIN.atomic: 0.0,
    }
    return theory[of.measure]


@pytest.fixture(scope="module")
def results() -> Results:
    made = Results()
    part = PAPER.of_world("sim")
    for of in dict.fromkeys(part.measures()):
        made.add(of, made_up(of))
    for key in part.experiments:
        made.ran(key, 1, (), 1500.0)
    for figure in part.figures:
        for key, source in figure.curves():
            made.add_curve(key, source, [(0.0, 20.0), (25.0, 19.0)])
    return made


def test_every_row_is_judged(results: Results) -> None:
    rows = [row.judged("gossip", results) for row in PAPER.of_world("sim").rows]
    assert len(rows) == 44
    assert len({row.run for row in rows}) == 10
    assert all(isinstance(row, PaperRow) and row.paper_law is not None for row in rows)
    by_metric = {row.metric: row for row in rows}
    ideal = by_metric["ideal rate / buffers at 60"]
    assert ideal.paper_law == pytest.approx(0.267, abs=0.001)
    assert ideal.verdict == "reproduced"
    part = by_metric["rate / ideal at 120 buffers"]
    assert part.paper_law == pytest.approx(0.96 / 30)
    assert by_metric["critical age of 10,000 peers"].paper_law == pytest.approx(5.3, abs=0.01)
    assert "plain lpbcast reaches 0.960" in by_metric["input rate at 45 buffers"].note


def test_every_figure_can_be_drawn(results: Results, tmp_path: Path) -> None:
    for figure in PAPER.figures:
        for path in draw(figure, results, tmp_path):
            assert path.stat().st_size > 5_000
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == [
        "gossip-figure-2",
        "gossip-figure-4-6",
        "gossip-figure-7-8",
        "gossip-figure-9",
        "gossip-scale",
    ]

"""The Gryphon paper as data: every experiment can be read, every measure be taken."""

from __future__ import annotations

import pickle

import pytest

from penstock.lab.experiments.experiment import Experiment, scenario_of
from penstock.lab.experiments.runner import jobs_of
from penstock.lab.scenario.metrics import check_measurement
from penstock.lab.scenario.model import Measurement
from penstock.lab.scenario.numbering import expanded
from penstock.papers.gryphon.paper import PAPER


@pytest.mark.parametrize("key", list(PAPER.experiments))
def test_every_experiment_is_a_scenario_in_which_its_measures_exist(key: str) -> None:
    experiment = PAPER.experiments[key]
    if not isinstance(experiment, Experiment):
        return
    scenario = expanded(scenario_of(experiment))
    measured = [of.measure for row in PAPER.rows for of in row.needed() if of.experiment == key]
    drawn = [curve.what for figure in PAPER.figures for at, curve in figure.curves() if at == key]
    assert measured
    for what in (*measured, *drawn):
        if isinstance(what, Measurement):
            check_measurement(scenario, key, what)


def test_every_run_can_be_sent_to_another_process() -> None:
    jobs = jobs_of(PAPER, PAPER.of_world("sim"), 1)
    assert len(jobs) == 47
    assert [pickle.loads(pickle.dumps(job)).title for job in jobs] == [job.title for job in jobs]


def test_one_experiment_runs_by_itself() -> None:
    part = PAPER.chosen("E2 paper")
    assert part.experiments == {"E2 paper"}
    assert [figure.name for figure in part.figures] == ["gryphon-e2"]
    assert all(row.run.startswith("E2") for row in part.rows)
    assert len(part.rows) == 14


def test_the_runs_of_processes_are_a_table_of_their_own() -> None:
    live = PAPER.of_world("net")
    assert {row.run.partition(",")[0] for row in live.rows} == {
        "two equal paths of 80 KB/s",
        *(
            f"{run} {label}"
            for run in ("E1", "E2", "every run")
            for label in ("live", "over tc tbf")
        ),
    }
    assert all(PAPER.experiments[key].most_seeds == 1 for key in live.experiments)

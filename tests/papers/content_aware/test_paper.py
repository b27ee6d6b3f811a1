"""The content-aware paper as data: every experiment can be read, every row has a value."""

from __future__ import annotations

import pickle

import pytest

from penstock.lab.experiments.experiment import Experiment, scenario_of
from penstock.lab.experiments.paper import Selection
from penstock.lab.experiments.results import Of, Results
from penstock.lab.experiments.runner import jobs_of
from penstock.lab.experiments.table import PaperRow
from penstock.lab.scenario.curve import value_at
from penstock.lab.scenario.metrics import check_measurement
from penstock.lab.scenario.model import Measurement
from penstock.lab.scenario.numbering import expanded
from penstock.papers.content_aware.experiments import EXPERIMENTS, UDP_HEADERS_BYTES
from penstock.papers.content_aware.paper import PAPER
from penstock.papers.content_aware.records import (
    DURATION_S,
    RECORD_SIZES,
    estimate,
    name_of,
    ratio_name,
)

SEEDS = 2


@pytest.mark.parametrize("key", list(EXPERIMENTS))
def test_every_experiment_is_a_scenario_in_which_its_measures_exist(key: str) -> None:
    experiment = EXPERIMENTS[key]
    if not isinstance(experiment, Experiment):
        return
    scenario = expanded(scenario_of(experiment))
    measured = [of.measure for row in PAPER.rows for of in row.needed() if of.experiment == key]
    drawn = [curve.what for figure in PAPER.figures for at, curve in figure.curves() if at == key]
    assert measured or drawn
    for what in (*measured, *drawn):
        if isinstance(what, Measurement):
            check_measurement(scenario, key, what)
    assert experiment.world == "sim" or experiment.namespaces is bool(scenario.cross_traffic)


def judged(part: Selection) -> list[PaperRow]:
    """The rows of a part of the paper, if everything that is measured is 100."""
    results = Results()
    for job in jobs_of(PAPER, part, SEEDS):
        for measure in job.measures:
            results.add(Of(job.experiment, measure), 100.0)
        results.ran(job.experiment, job.seed, (), 0.0)
    return [row.judged("datagram", results) for row in part.rows]


@pytest.mark.parametrize("world", ["sim", "net"])
def test_every_row_has_a_value(world: str) -> None:
    rows = judged(PAPER.of_world(world))
    assert [row.metric for row in rows if row.paper_law is None] == []
    compared = [row for row in rows if row.stretch != "–"]
    assert [row.metric for row in compared if row.improved_law is None] == []
    assert {row.seeds for row in compared} == {SEEDS}
    assert {row.seeds for row in rows if "records alone" in row.run} <= {1}


@pytest.mark.parametrize("key", list(EXPERIMENTS))
def test_every_experiment_can_run_by_itself(key: str) -> None:
    part = PAPER.chosen(key)
    assert part.experiments == {key}
    judged(part)


def test_every_run_can_be_sent_to_another_process() -> None:
    jobs = jobs_of(PAPER, PAPER.of_world("sim"), 1)
    assert [pickle.loads(pickle.dumps(job)).title for job in jobs] == [job.title for job in jobs]


def test_tcp_starves_beside_both_uncontrolled_flows() -> None:
    for key in ("TCP none", "thin TCP none"):
        experiment = EXPERIMENTS[key]
        assert isinstance(experiment, Experiment)
        scenario = scenario_of(experiment)
        (publisher,) = [each for each in scenario.clients if each.role == "publisher"]
        share = float(publisher.attributes["kind"].split(":")[1].split(",")[0])
        wanted_bytes_per_s = 280 * share * value_at(publisher.rate_msgs_per_s, 0.0)
        assert wanted_bytes_per_s > scenario.links[0].bandwidth_bytes_per_s


def test_a_live_message_and_a_live_segment_have_one_size_on_the_link() -> None:
    experiment = EXPERIMENTS["live TCP paper"]
    assert isinstance(experiment, Experiment)
    scenario = scenario_of(experiment)
    (publisher,) = [each for each in scenario.clients if each.role == "publisher"]
    (flow,) = scenario.cross_traffic
    assert publisher.message_bytes + UDP_HEADERS_BYTES == flow.segment_bytes


def test_records_of_five_messages_are_near_the_ideal_receiver() -> None:
    estimates = estimate(1)
    assert 0.8 < estimates[ratio_name(5)] < 1.25
    for size in RECORD_SIZES:
        for second in range(DURATION_S):
            assert 0 <= estimates[name_of("loss", size, second)] <= 1
            assert estimates[name_of("rate", size, second)] > 0

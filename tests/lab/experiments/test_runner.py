"""Runs of small scenarios, from the experiments to the table."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path

import pytest

from penstock.lab.experiments import runner
from penstock.lab.experiments.experiment import Computation, Experiment
from penstock.lab.experiments.figure import Figure, Line, Panel
from penstock.lab.experiments.marks import Mark
from penstock.lab.experiments.paper import Paper
from penstock.lab.experiments.results import Of
from penstock.lab.experiments.row import Row
from penstock.lab.experiments.runner import Job, jobs_of, run_job, run_paper, run_selection
from penstock.lab.experiments.table import at_least
from penstock.lab.result import RunResult
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Measurement
from penstock.lab.worlds.namespaces import NoNamespaces

SHORT = {"duration_s": 4, "faults.0.at_s": 1, "faults.1.at_s": 2}
DELIVERED = Measurement(metric="delivered", subject="s1")
NEVER = Measurement(metric="alert_recovering", from_s=3, to_s=3.5)

EXPERIMENTS = {
    "short": Experiment("gryphon-e1", SHORT),
    "large": Experiment("gryphon-e1", SHORT, effort=1, most_seeds=1),
    "computed": Computation(partial(dict.fromkeys, ("number",))),
}
"""The computation's number is its seed."""

FIGURE = Figure(
    "f",
    "A figure",
    ((Panel("short", "delivered", "msg/s", (Line("s1", DELIVERED), Line("s2", DELIVERED))),),),
)
PAPER = Paper(
    "guaranteed",
    "A paper",
    EXPERIMENTS,
    (
        Row("short", "delivered", "", bar=at_least(1000), measure=DELIVERED, paper_law="short"),
        Row("large", "delivered", "", measure=DELIVERED, paper_law="large"),
        Row("computed", "number", "", measure="number", paper_law="computed"),
    ),
    (FIGURE,),
)


def deliveries(result: RunResult) -> float:
    return float(len(result.histories["guaranteed"].events("delivered")["s1"].at))


def test_the_largest_runs_begin_and_curves_are_those_of_the_first_seed() -> None:
    jobs = jobs_of(PAPER, PAPER.of_world("sim"), 2)
    assert [(job.experiment, job.seed, len(job.curves)) for job in jobs] == [
        ("large", 1, 0),
        ("short", 1, 1),
        ("short", 2, 0),
        ("computed", 1, 0),
        ("computed", 2, 0),
    ]
    assert jobs[1].measures == (DELIVERED,)


def test_a_run_is_measured_where_it_is_made() -> None:
    job = Job("short", EXPERIMENTS["short"], 1, (DELIVERED, deliveries, NEVER), ())

    gave = run_job(job)

    assert gave.numbers[0] == gave.numbers[1] > 1000
    assert math.isnan(gave.numbers[2])
    assert gave.missing[:2] == ("", "")
    assert gave.missing[2]
    assert gave.marks == (Mark(1, "cut ib-sb2"), Mark(2, "mend ib-sb2"))
    assert gave.end_s == 4


def test_from_experiments_to_the_table_and_the_figures(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []

    rows = run_paper(
        PAPER,
        PAPER.of_world("sim"),
        seeds=2,
        out=tmp_path,
        progress=lambda *now: told.append(now),
    )

    assert [row.seeds for row in rows] == [2, 1, 2]
    assert rows[0].verdict == "reproduced"
    assert rows[0].paper_law == rows[1].paper_law, "the same seeds give the same numbers"
    assert rows[2].paper_law == 1.5
    assert [(done, total) for done, total, _ in told] == [(each, 5) for each in range(1, 6)]
    assert {title for _, _, title in told} >= {"large, seed 1", "computed, seed 2"}
    assert sorted(each.name for each in tmp_path.iterdir()) == ["f.png", "f.svg"]


def test_values_keep_the_order_of_the_seeds() -> None:
    results = run_selection(PAPER, PAPER.chosen("computed"), seeds=3)
    assert results.values("computed", "number") == [1, 2, 3]
    assert results.seeds("computed") == 3


def test_an_error_names_its_run() -> None:
    job = Job("wrong", Experiment("gryphon-e1", {"links.pb-sb9.cost": 2}), 7, (), ())
    with pytest.raises(ScenarioError) as caught:
        run_job(job)
    assert caught.value.__notes__ == ["in the run wrong, seed 7"]


def test_without_network_namespaces_their_rows_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def impossible() -> None:
        raise NoNamespaces("this needs root")

    monkeypatch.setattr(runner, "check_possible", impossible)
    live = Experiment("gryphon-e1", world="net", namespaces=True)
    rows = (*PAPER.rows[2:], Row("live", "delivered", "", measure=DELIVERED, paper_law="live"))
    paper = Paper("guaranteed", "", {**EXPERIMENTS, "live": live}, rows)
    told: list[str] = []

    assert run_paper(paper, paper.of_world("net"), seeds=1, left_out=told.append) == []
    assert told == ["without network namespaces: this needs root"]


def test_runs_of_processes_come_one_after_the_other_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []

    def recorded(job: Job) -> runner.Measured:
        made.append(job.title)
        return runner.Measured((1.0,), ("",))

    monkeypatch.setattr(runner, "run_job", recorded)
    experiments = {
        name: Experiment("gryphon-e1", world="net", most_seeds=1) for name in ("one", "two")
    }
    rows = tuple(
        Row(name, "delivered", "", measure=DELIVERED, paper_law=name) for name in experiments
    )
    paper = Paper("guaranteed", "", experiments, rows)

    results = run_selection(paper, paper.of_world("net"), seeds=5)

    assert made == ["one, seed 1", "two, seed 1"]
    assert results.values("two", DELIVERED) == [1.0]
    assert results.combined(Of("one", DELIVERED), "unused") == [1.0]

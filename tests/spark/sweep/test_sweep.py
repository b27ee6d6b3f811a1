"""A short version of the Gryphon paper's E4 as a sweep, simulated and aggregated by Spark.

The outage is 10 s instead of 120 s, rates, link and the relays' cache are smaller in proportion,
and two thresholds replace twelve.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.lab.run import run
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.telemetry.run_records import run_records
from penstock.lab.worlds.sim import SimRun
from penstock.papers.gryphon.measures import recovery_s
from penstock.spark.lake.lake import create_lake, runs_of
from penstock.spark.sweep.figure import axis_of, curves_of, draw_sweep
from penstock.spark.sweep.grid import Grid, build_grid
from penstock.spark.sweep.resume import jobs_left
from penstock.spark.sweep.summary import Estimate, SweepSummary, summarise
from penstock.spark.sweep.sweep import Job, jobs_of, run_sweep
from penstock.spark.tables.table import OpenTable, TableError

pytestmark = pytest.mark.xdist_group("spark")

E4 = Path(__file__).parents[3] / "src/penstock/papers/gryphon/scenarios/gryphon-e4.toml"
MENDED_S = 20.0
SHORT = (
    "duration_s=45",
    "faults.1.at_s=20",
    "links.pb-ib.bandwidth_bytes_per_s=20000",
    "clients.p.rate_msgs_per_s=10",
    "guaranteed.relay_cache_bytes=10000",
)
THRESHOLDS = "congestion.recovering_threshold=0.2,1.8"
SEEDS = 2


@pytest.fixture(scope="module")
def grid() -> Grid:
    return build_grid(E4, [THRESHOLDS, *SHORT])


@pytest.fixture(scope="module")
def lake(spark: SparkSession, grid: Grid, tmp_path_factory: pytest.TempPathFactory) -> OpenTable:
    """All runs, landed."""
    made = create_lake(tmp_path_factory.mktemp("sweep") / "lake")
    told: list[int] = []
    run_sweep(spark, made, "e4", grid, jobs_of("e4", grid, SEEDS), told.append)
    assert told == sorted(told)
    assert told[-1] == 4
    return made


@pytest.fixture(scope="module")
def summary(spark: SparkSession, lake: OpenTable, grid: Grid) -> SweepSummary:
    return summarise(spark, lake, "e4", [job.run for job in jobs_of("e4", grid, SEEDS)])


def of(summary: SweepSummary, measure: str) -> list[Estimate]:
    return [each for each in summary.estimates if each.measure == measure]


def test_every_run_is_in_the_lake_with_its_point(lake: OpenTable) -> None:
    assert runs_of(lake.snapshot()) == ["e4.p000.s01", "e4.p000.s02", "e4.p001.s01", "e4.p001.s02"]
    assert lake.snapshot().version == 1


def test_a_task_simulates_what_the_lab_does(grid: Grid, summary: SweepSummary) -> None:
    """Compares with the recovery in the paper's table, which knows the time of the repair."""
    for point, estimate in zip(grid.points, of(summary, "recovery_s"), strict=True):
        assert estimate.parameters == point
        assert estimate.seeds == SEEDS
        expected = []
        for seed in range(1, SEEDS + 1):
            result = run(SimRun(grid.scenario(point), seed))
            expected.append(recovery_s(result, "sb2", MENDED_S))
        assert estimate.low <= estimate.median <= estimate.high
        assert min(expected) > 5.0, "there is no recovery to measure"
        assert estimate.median == pytest.approx(sum(expected) / 2, abs=2.0)


def test_medians_are_over_the_seeds_of_a_point(summary: SweepSummary) -> None:
    assert summary.runs == 4
    assert summary.failed == {}
    assert [(each.median, each.seeds) for each in of(summary, "violations")] == [(0, SEEDS)] * 2
    published = of(summary, "published_msgs_per_s")
    assert all(0 < each.low <= each.median <= each.high <= 40 for each in published)


def test_a_sweep_that_is_run_again_replaces_its_runs(
    spark: SparkSession, tmp_path: Path, small: Grid
) -> None:
    made = create_lake(tmp_path / "lake")
    for _ in range(2):
        run_sweep(spark, made, "again", small, jobs_of("again", small, 1), lambda done: None)
    assert len(made.snapshot().files) == 1
    assert made.snapshot().version == 2


def test_a_sweep_that_was_stopped_runs_only_what_is_left(
    spark: SparkSession, tmp_path: Path, small: Grid
) -> None:
    made = create_lake(tmp_path / "lake")
    jobs = jobs_of("half", small, 3)
    failing = Job(jobs[1].run, {"duration_s": -1}, jobs[1].seed)
    assert jobs_left(made, "half", small, jobs) == jobs
    run_sweep(spark, made, "half", small, [jobs[0], failing], lambda done: None)
    assert jobs_left(made, "half", small, jobs) == jobs[1:]
    other = [Job(job.run, {"duration_s": 2}, job.seed) for job in jobs]
    assert jobs_left(made, "half", small, other) == other
    run_sweep(spark, made, "half", small, jobs[1:], lambda done: None)
    assert jobs_left(made, "half", small, jobs) == []
    found = summarise(spark, made, "half", [job.run for job in jobs])
    assert (found.runs, found.failed) == (3, {})


@pytest.fixture
def small(tmp_path: Path) -> Grid:
    path = tmp_path / "small.toml"
    path.write_text(
        'name = "small"\nduration_s = 1\n[[brokers]]\nname = "a"\npubends = 1\n[[clients]]\n'
        'service = "guaranteed"\nrole = "publisher"\nname = "p"\nbroker = "a"\n'
        "rate_msgs_per_s = 5\n"
    )
    return build_grid(path, [])


def test_a_failed_simulation_is_reported_with_the_others(
    spark: SparkSession, tmp_path: Path, small: Grid
) -> None:
    made = create_lake(tmp_path / "lake")
    good, bad = jobs_of("bad", small, 2)
    jobs = [good, Job(bad.run, {"duration_s": -1}, bad.seed)]
    run_sweep(spark, made, "bad", small, jobs, lambda done: None)
    found = summarise(spark, made, "bad", [job.run for job in jobs])
    assert found.runs == 2
    assert list(found.failed) == [bad.run]
    assert found.failed[bad.run].startswith("ScenarioError: duration_s: expected float > 0")


THIN = """
name = "thin"
duration_s = 5
drain_s = 1
[[brokers]]
name = "a"
pubends = 1
[[brokers]]
name = "b"
[[links]]
between = ["a", "b"]
[[clients]]
service = "guaranteed"
role = "subscriber"
name = "s"
broker = "b"
[[clients]]
service = "guaranteed"
role = "publisher"
name = "p"
broker = "a"
rate_msgs_per_s = 50
[[faults]]
at_s = 3
cut = ["a", "b"]
"""


def test_messages_in_flight_at_the_end_are_unfinished_and_not_lost(tmp_path: Path) -> None:
    """The link is cut until the end, so that the rest waits at the broker."""
    path = tmp_path / "thin.toml"
    path.write_text(THIN)
    scenario = build_grid(path, []).scenario({})
    done = run(SimRun(scenario, 1))
    assert done.judgement["lost"] == done.judgement["unfinished"] > 50
    swept = {each.metric: each.value for each in run_records(done, {}, "sweep")}
    assert (swept["lost"], swept["violations"]) == (0, 0)
    assert swept["unfinished"] == done.judgement["unfinished"]
    alone = {each.metric: each.value for each in run_records(done)}
    assert alone["lost"] == alone["unfinished"] > 0, "a run by itself has to finish"


PEERS = """
name = "peers"
duration_s = 60
drain_s = 0
[parameters.gossip]
law = "none"
gossip_period_ns = 2_000_000_000
[[clients]]
service = "gossip"
name = "p"
count = 20
rate_msgs_per_s = 1
[[expect]]
name = "receivers"
metric = "receivers"
aggregate = "mean"
from_s = 20
to_s = 40
at_least = 0
"""


def test_a_scenario_of_another_service_is_swept_with_its_own_measures(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "peers.toml"
    path.write_text(PEERS)
    grid = build_grid(path, ["parameters.gossip.buffer_events=30,90"])
    made = create_lake(tmp_path / "lake")
    jobs = jobs_of("gossip", grid, 2)
    run_sweep(spark, made, "gossip", grid, jobs, lambda done: None)
    found = summarise(spark, made, "gossip", [job.run for job in jobs])
    assert found.failed == {}
    for point, estimate in zip(grid.points, of(found, "receivers"), strict=True):
        assert estimate.parameters == point
        assert estimate.seeds == 2
        measured = []
        for seed in (1, 2):
            (verdict,) = judge_expectations(run(SimRun(grid.scenario(point), seed)))
            assert verdict.value is not None
            measured.append(verdict.value)
        assert estimate.median == pytest.approx(sum(measured) / 2)
    small, large = of(found, "receivers")
    assert small.median < large.median, "events must stay longer in a larger buffer"


def test_an_unknown_run_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"there is no run 'x\.p000\.s01'"):
        summarise(spark, create_lake(tmp_path / "lake"), "x", ["x.p000.s01"])


def estimate(value: float, **parameters: object) -> Estimate:
    return Estimate(dict(parameters), "recovery_s", value, value - 1, value + 1, 3)


def test_the_axis_is_the_numeric_parameter_with_the_most_values() -> None:
    assert axis_of({"law": ["a", "b", "c"], "t": [1, 2], "u": [1]}) == "t"
    assert axis_of({"law": ["a", "b"]}) == "law"
    assert axis_of({}) == ""


def test_curves_are_named_after_what_varies() -> None:
    parameters = {"t": [1, 2], "congestion.law": ["paper", "improved"], "duration_s": [45]}
    estimates = [
        estimate(3, **{"t": t, "congestion.law": law, "duration_s": 45})
        for law in ("paper", "improved")
        for t in (1, 2)
    ]
    found = curves_of(estimates, "t", parameters)
    assert {label: len(curve) for label, curve in found.items()} == {
        "law = paper": 2,
        "law = improved": 2,
    }


@pytest.mark.parametrize(
    ("parameters", "estimates"),
    [
        (
            {"t": [1, 2], "law": ["paper", "improved"]},
            [estimate(t, t=t, law=law) for law in ("paper", "improved") for t in (1, 2)],
        ),
        ({"law": ["paper", "improved"]}, [estimate(3, law="paper"), estimate(4, law="improved")]),
        ({}, [estimate(3)]),
    ],
)
def test_a_figure_is_drawn_whatever_the_parameters_are(
    parameters: dict[str, list[object]], estimates: list[Estimate], tmp_path: Path
) -> None:
    drawn = draw_sweep("sweep", "recovery_s", estimates, parameters, tmp_path)
    assert [path.suffix for path in drawn] == [".png", ".svg"]
    assert all(path.stat().st_size > 1000 for path in drawn)
    assert draw_sweep("sweep", "lost", estimates, parameters, tmp_path) == []

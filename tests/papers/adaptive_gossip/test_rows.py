"""The table and the figures, from synthetic runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from penstock.papers.adaptive_gossip.scenario import GossipResult

from penstock.papers.adaptive_gossip import paper as gossip
from penstock.papers.adaptive_gossip.experiments import (
    DYNAMIC_ROUNDS,
    FIRST_CHANGE_ROUND,
    Job,
    Results,
    paper_jobs,
)
from penstock.papers.table import PaperRow


def made_up(job: Job) -> GossipResult:
    """A result according to theory: 95 % at 0.267 messages per second and buffer."""
    scenario = job.scenario
    rate = min(scenario.offered_msgs_per_s, 0.267 * scenario.parameters.buffer_events)
    share = 1 - 0.05 ** (0.267 * scenario.parameters.buffer_events / scenario.offered_msgs_per_s)
    rounds = DYNAMIC_ROUNDS if job.key[0] == "dynamic" else 0
    steps = tuple(20.0 if each < FIRST_CHANGE_ROUND + 9 else 15.0 for each in range(rounds))
    return GossipResult(
        seed=job.seed,
        input_rate_msgs_per_s=scenario.offered_msgs_per_s,
        allowed_rate_msgs_per_s=rate,
        output_rate_msgs_per_s=rate * share,
        receivers=share,
        atomic=0.0,
        drop_age=5.3 / scenario.offered_msgs_per_s * 0.267 * scenario.parameters.buffer_events,
        group_size=60.0,
        allowed_by_round=steps,
        input_by_round=steps,
        receivers_by_round=(0.96,) * rounds,
        atomic_by_round=(0.9,) * rounds,
    )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("figures")


@pytest.fixture(scope="module")
def rows(out: Path) -> list[PaperRow]:
    def run_made_up(jobs: list[Job], progress: object) -> Results:
        results: Results = {}
        for job in jobs:
            results.setdefault(job.key, []).append(made_up(job))
        return results

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gossip, "run_jobs", run_made_up)
        return gossip.run(world="sim", seeds=2, out=out, progress=lambda what: None)


def test_every_experiment_has_its_rows_and_figures(rows: list[PaperRow], out: Path) -> None:
    runs = {row.run for row in rows}
    assert len(runs) == 10
    assert all(row.service == "gossip" for row in rows)
    drawn = sorted(path.name for path in out.glob("*.png"))
    assert drawn == [
        "gossip-figure-2.png",
        "gossip-figure-4-6.png",
        "gossip-figure-7-8.png",
        "gossip-figure-9.png",
        "gossip-scale.png",
    ]


def test_the_ideal_rate_is_that_of_the_synthetic_runs(rows: list[PaperRow]) -> None:
    ideal = [row for row in rows if row.metric == "ideal rate / buffers at 60"]
    assert ideal[0].paper_law == pytest.approx(0.267, abs=0.002)
    assert ideal[0].verdict == "reproduced"


def test_both_laws_are_judged_by_how_soon_the_rate_is_stable(rows: list[PaperRow]) -> None:
    settling = next(row for row in rows if "stable after" in row.metric)
    assert settling.paper_law == settling.improved_law
    assert 7 <= (settling.paper_law or 0) <= 12
    assert settling.verdict == "beaten"


def test_every_job_except_the_largest_group_runs_with_every_seed() -> None:
    jobs = paper_jobs(3)
    assert len({(job.key, job.seed) for job in jobs}) == len(jobs)
    seeds = {job.key: [each.seed for each in jobs if each.key == job.key] for job in jobs}
    assert {tuple(each) for key, each in seeds.items() if 10_000 not in key} == {(1, 2, 3)}

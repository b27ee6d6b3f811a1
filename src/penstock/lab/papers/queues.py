"""The experiments of "Scalable Store and Forward Messaging": what it reports, and what we do.

Bars and stretches are those of docs/papers/store-and-forward.md.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from penstock.lab.papers.queues_figures import draw_loads
from penstock.lab.papers.queues_runs import QueueJob, QueueResult, run_job
from penstock.lab.papers.queues_scenario import (
    BALANCED,
    IMPROVED,
    IMPROVED_QUICK,
    INVERTED,
    PAPER,
    ROUND_ROBIN,
    UNBALANCED,
    Policy,
)
from penstock.lab.papers.table import PaperRow, at_least, at_most, row

SERVICE: Final = "queues"
WORKERS: Final = 2

PLAN: Final[tuple[tuple[str, Policy], ...]] = (
    (BALANCED, ROUND_ROBIN),
    (BALANCED, PAPER),
    (BALANCED, IMPROVED_QUICK),
    (UNBALANCED, ROUND_ROBIN),
    (UNBALANCED, PAPER),
    (UNBALANCED, IMPROVED),
    (UNBALANCED, IMPROVED_QUICK),
    (INVERTED, PAPER),
    (INVERTED, IMPROVED),
    (INVERTED, IMPROVED_QUICK),
)

Results = dict[tuple[str, str], list[QueueResult]]


def run(*, world: str, seeds: int, out: Path, progress: Callable[[str], None]) -> list[PaperRow]:
    """Run everything, draw the figures, and give the rows."""
    out.mkdir(parents=True, exist_ok=True)
    if world == "net":
        from penstock.lab.papers.queues_live import live_rows

        return live_rows(out, progress)
    results = _simulated(seeds, progress)
    _draw(results, out)
    return _rows(results)


def _simulated(seeds: int, progress: Callable[[str], None]) -> Results:
    jobs = [
        QueueJob(scenario, policy, seed)
        for seed in range(1, seeds + 1)
        for scenario, policy in PLAN
    ]
    results: Results = {(scenario, policy.name): [] for scenario, policy in PLAN}
    with get_context("spawn").Pool(WORKERS) as pool:
        for job, result in zip(jobs, pool.imap(run_job, jobs), strict=True):
            results[job.scenario, job.policy.name].append(result)
            progress(f"{job.scenario}, {job.policy.name}, seed {job.seed}: {result.total_s:.1f} s")
    return results


def _draw(results: Results, out: Path) -> None:
    titles = {
        BALANCED: "Equal consumers (50/50)",
        UNBALANCED: "Unequal consumers (70/30)",
        INVERTED: "Unequal consumers that change roles at 250 s, two alias queues",
    }
    for scenario, title in titles.items():
        shown = {
            policy.name: results[scenario, policy.name][0]
            for each, policy in PLAN
            if each == scenario and policy is not ROUND_ROBIN
        }
        draw_loads(title, shown, out / scenario)
    flood = {"round-robin": results[UNBALANCED, ROUND_ROBIN.name][0]}
    draw_loads("Unequal consumers (70/30), round-robin", flood, out / "queues-round-robin")


def _rows(results: Results) -> list[PaperRow]:
    def totals(scenario: str, policy: Policy) -> list[float]:
        return [each.total_s for each in results[scenario, policy.name]]

    def highest(scenario: str, policy: Policy) -> list[float]:
        return [each.highest_load for each in results[scenario, policy.name]]

    quick = "with a first period of 1 s"
    return [
        row(
            SERVICE,
            "50/50, round-robin",
            "total reception time",
            "s",
            paper="500.0",
            bar=at_most(500.5),
            paper_law=totals(BALANCED, ROUND_ROBIN),
        ),
        row(
            SERVICE,
            "50/50, flow control",
            "total reception time",
            "s",
            paper="500.5",
            bar=at_most(500.5),
            stretch=at_most(500.3),
            paper_law=totals(BALANCED, PAPER),
            improved_law=totals(BALANCED, IMPROVED_QUICK),
        ),
        row(
            SERVICE,
            "70/30, round-robin",
            "total reception time",
            "s",
            paper="time-out",
            bar=at_least(800),
            paper_law=totals(UNBALANCED, ROUND_ROBIN),
        ),
        row(
            SERVICE,
            "70/30, round-robin",
            "highest load",
            "messages",
            paper="grows linearly",
            bar=at_least(190_000),
            paper_law=highest(UNBALANCED, ROUND_ROBIN),
        ),
        row(
            SERVICE,
            "70/30, flow control",
            "total reception time",
            "s",
            paper="510",
            bar=at_most(510),
            stretch=at_most(502.2),
            paper_law=totals(UNBALANCED, PAPER),
            improved_law=totals(UNBALANCED, IMPROVED),
        ),
        row(
            SERVICE,
            f"70/30, flow control, {quick}",
            "total reception time",
            "s",
            paper="–",
            bar=at_most(510),
            stretch=at_most(500.6),
            paper_law=[],
            improved_law=totals(UNBALANCED, IMPROVED_QUICK),
        ),
        row(
            SERVICE,
            "70/30, flow control",
            "highest load",
            "messages",
            paper="about 6,200",
            bar=at_most(7000),
            paper_law=highest(UNBALANCED, PAPER),
            improved_law=highest(UNBALANCED, IMPROVED),
        ),
        row(
            SERVICE,
            "70/30 inverted, two alias queues",
            "total reception time",
            "s",
            paper="506",
            bar=at_most(506),
            stretch=at_most(502.7),
            paper_law=totals(INVERTED, PAPER),
            improved_law=totals(INVERTED, IMPROVED),
        ),
        row(
            SERVICE,
            f"70/30 inverted, {quick}",
            "total reception time",
            "s",
            paper="–",
            bar=at_most(506),
            stretch=at_most(501.7),
            paper_law=[],
            improved_law=totals(INVERTED, IMPROVED_QUICK),
        ),
        row(
            SERVICE,
            "70/30 inverted, two alias queues",
            "highest load",
            "messages",
            paper="stable",
            bar=at_most(10_000),
            paper_law=highest(INVERTED, PAPER),
            improved_law=highest(INVERTED, IMPROVED),
        ),
    ]

"""The experiments of "Scalable Store and Forward Messaging": the paper's results and ours.

Bars and stretches are those of docs/papers/store-and-forward.md.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec

from penstock.papers.store_and_forward.figures import draw_loads
from penstock.papers.store_and_forward.runs import QueueJob, QueueResult, run_job
from penstock.papers.store_and_forward.scenario import (
    BALANCED,
    IMPROVED,
    IMPROVED_QUICK,
    INVERTED,
    PAPER,
    ROUND_ROBIN,
    UNBALANCED,
    Policy,
)
from penstock.papers.table import Bar, PaperRow, at_least, at_most, row

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
    """Run everything, draw the figures, and return the rows."""
    out.mkdir(parents=True, exist_ok=True)
    if world == "net":
        from penstock.papers.store_and_forward.live import live_rows

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


class _Measure(msgspec.Struct, frozen=True):
    """A quantity of one run."""

    name: str
    unit: str
    of: Callable[[QueueResult], float]


class _Line(msgspec.Struct, frozen=True):
    """A row of the table: the quantity, the runs and the bar."""

    run: str
    scenario: str
    measure: _Measure
    paper: str
    bar: Bar
    stretch: Bar | None = None
    paper_law: Policy | None = None
    improved_law: Policy | None = None


TOTAL: Final = _Measure("total reception time", "s", lambda result: result.total_s)
LOAD: Final = _Measure("highest load", "messages", lambda result: result.highest_load)

EQUAL: Final = "50/50, flow control"
UNEQUAL: Final = "70/30, flow control"
CHANGING: Final = "70/30 inverted, two alias queues"
QUICK: Final = "with a first period of 1 s"

LINES: Final = (
    _Line("50/50, round-robin", BALANCED, TOTAL, "500.0", at_most(500.5), None, ROUND_ROBIN),
    _Line(EQUAL, BALANCED, TOTAL, "500.5", at_most(500.5), at_most(500.3), PAPER, IMPROVED_QUICK),
    _Line("70/30, round-robin", UNBALANCED, TOTAL, "time-out", at_least(800), None, ROUND_ROBIN),
    _Line(
        "70/30, round-robin",
        UNBALANCED,
        LOAD,
        "grows linearly",
        at_least(190_000),
        None,
        ROUND_ROBIN,
    ),
    _Line(UNEQUAL, UNBALANCED, TOTAL, "510", at_most(510), at_most(502.2), PAPER, IMPROVED),
    _Line(
        f"{UNEQUAL}, {QUICK}",
        UNBALANCED,
        TOTAL,
        "–",
        at_most(510),
        at_most(500.6),
        None,
        IMPROVED_QUICK,
    ),
    _Line(UNEQUAL, UNBALANCED, LOAD, "about 6,200", at_most(7000), None, PAPER, IMPROVED),
    _Line(CHANGING, INVERTED, TOTAL, "506", at_most(506), at_most(502.7), PAPER, IMPROVED),
    _Line(
        f"70/30 inverted, {QUICK}",
        INVERTED,
        TOTAL,
        "–",
        at_most(506),
        at_most(501.7),
        None,
        IMPROVED_QUICK,
    ),
    _Line(CHANGING, INVERTED, LOAD, "stable", at_most(10_000), None, PAPER, IMPROVED),
)


def _rows(results: Results) -> list[PaperRow]:
    def measured(line: _Line, policy: Policy | None) -> list[float]:
        runs = [] if policy is None else results[line.scenario, policy.name]
        return [line.measure.of(each) for each in runs]

    return [
        row(
            SERVICE,
            line.run,
            line.measure.name,
            line.measure.unit,
            paper=line.paper,
            bar=line.bar,
            stretch=line.stretch,
            paper_law=measured(line, line.paper_law),
            improved_law=measured(line, line.improved_law),
        )
        for line in LINES
    ]

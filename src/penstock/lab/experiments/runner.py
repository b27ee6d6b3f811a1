"""Runs the experiments of a paper, and makes its table and figures.

1. Simulations run on two processes, those of the largest effort first.  Each run is measured in
   the process that made it; only numbers and curves come back.
2. Runs of real processes follow one after the other, because they share this machine.
3. What this machine cannot run is left out, with the rows that need it, and reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from penstock.lab.experiments.experiment import (
    Computation,
    Experiment,
    Measure,
    Source,
    in_net,
    run_experiment,
)
from penstock.lab.experiments.figure import CurveOf
from penstock.lab.experiments.marks import Mark, marks_of
from penstock.lab.experiments.paper import Paper, Selection
from penstock.lab.experiments.results import NAN, Of, Results
from penstock.lab.experiments.table import PaperRow
from penstock.lab.telemetry.curves import Curve, curve
from penstock.lab.telemetry.measure import NothingMeasured, measure
from penstock.lab.worlds.namespaces import NoNamespaces, check_possible

WORKERS: Final = 2

RunsDone: TypeAlias = Callable[[int, int, str], None]
"""Receives the number of runs done, of all, and the name of the last one or the current one."""


class Job(msgspec.Struct, frozen=True):
    """One run, and what is taken from it."""

    experiment: str
    source: Source
    seed: int
    measures: tuple[Measure, ...]
    curves: tuple[CurveOf, ...]

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.experiment}, seed {self.seed}"


class Measured(msgspec.Struct, frozen=True):
    """What one run gave, in the order of its job."""

    numbers: tuple[float, ...]
    missing: tuple[str, ...]
    """Why there is no number, or ""."""
    curves: tuple[Curve, ...] = ()
    marks: tuple[Mark, ...] = ()
    end_s: float = 0.0


def run_paper(
    paper: Paper,
    selection: Selection,
    *,
    seeds: int,
    out: Path | None = None,
    progress: RunsDone = lambda done, total, title: None,
    left_out: Callable[[str], None] = lambda why: None,
) -> list[PaperRow]:
    """The rows of the table; figures go to ``out``."""
    impossible = _impossible(paper, selection)
    if impossible:
        left_out(impossible)
        selection = selection.without(
            frozenset(each for each in selection.experiments if _needs_root(paper, each))
        )
    results = run_selection(paper, selection, seeds=seeds, progress=progress)
    if out is not None:
        from penstock.lab.experiments.drawing import draw

        for figure in selection.figures:
            draw(figure, results, out)
    return [row.judged(paper.service, results) for row in selection.rows]


def run_selection(
    paper: Paper,
    selection: Selection,
    *,
    seeds: int,
    progress: RunsDone = lambda done, total, title: None,
) -> Results:
    """Run every experiment of the selection with every seed."""
    jobs = jobs_of(paper, selection, seeds)
    measured: dict[tuple[str, int], Measured] = {}

    def finished(job: Job, gave: Measured) -> None:
        measured[job.experiment, job.seed] = gave
        progress(len(measured), len(jobs), job.title)

    _simulate([job for job in jobs if not in_net(job.source)], finished)
    for job in jobs:
        if in_net(job.source):
            progress(len(measured), len(jobs), job.title)
            finished(job, run_job(job))
    results = Results()
    for job in sorted(jobs, key=lambda job: job.seed):
        _keep(results, job, measured[job.experiment, job.seed])
    return results


def jobs_of(paper: Paper, selection: Selection, seeds: int) -> list[Job]:
    """Every run, those of the largest effort first; curves are taken from the first seed."""
    measures: dict[str, dict[Measure, None]] = {each: {} for each in paper.experiments}
    for of in selection.measures():
        measures[of.experiment][of.measure] = None
    curves: dict[str, dict[CurveOf, None]] = {each: {} for each in paper.experiments}
    for figure in selection.figures:
        for key, source in figure.curves():
            curves[key][source] = None
    jobs = [
        Job(key, source, seed, tuple(measures[key]), tuple(curves[key]) if seed == 1 else ())
        for key, source in paper.experiments.items()
        if key in selection.experiments
        for seed in range(1, min(seeds, source.most_seeds) + 1)
    ]
    return sorted(jobs, key=lambda job: -job.source.effort)


def _simulate(jobs: list[Job], finished: Callable[[Job, Measured], None]) -> None:
    if not jobs:
        return
    workers = min(WORKERS, len(jobs))
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        pending = {pool.submit(run_job, job): job for job in jobs}
        for future in as_completed(pending):
            finished(pending[future], future.result())
    finally:
        pool.shutdown(cancel_futures=True)


def run_job(job: Job) -> Measured:
    """Make one run and measure it; in any process."""
    try:
        if isinstance(job.source, Computation):
            computed = job.source.function(job.seed)
            return Measured(tuple(computed[str(each)] for each in job.measures), ())
        return _measured(job, job.source)
    except Exception as error:
        error.add_note(f"in the run {job.title}")
        raise


def _measured(job: Job, experiment: Experiment) -> Measured:
    result = run_experiment(experiment, job.seed)
    numbers, missing = [], []
    for each in job.measures:
        assert not isinstance(each, str), f"{job.experiment} is no computation with a {each!r}"
        why = ""
        try:
            number = float(each(result) if callable(each) else measure(result, each))
        except NothingMeasured as error:
            number, why = NAN, str(error)
        numbers.append(number)
        missing.append(why)
    curves = tuple(
        each.what(result)
        if callable(each.what)
        else curve(result, each.what, each.how, each.step_s)
        for each in job.curves
    )
    scenario = result.scenario
    return Measured(tuple(numbers), tuple(missing), curves, marks_of(scenario), scenario.duration_s)


def _keep(results: Results, job: Job, gave: Measured) -> None:
    missing: Iterable[str] = gave.missing or [""] * len(gave.numbers)
    for each, number, why in zip(job.measures, gave.numbers, missing, strict=True):
        results.add(Of(job.experiment, each), number, why)
    for source, points in zip(job.curves, gave.curves, strict=True):
        results.add_curve(job.experiment, source, points)
    results.ran(job.experiment, job.seed, gave.marks, gave.end_s)


def _impossible(paper: Paper, selection: Selection) -> str:
    """Why some experiments cannot run on this machine, or ""."""
    if not any(_needs_root(paper, each) for each in selection.experiments):
        return ""
    try:
        check_possible()
    except NoNamespaces as why:
        return f"without network namespaces: {why}"
    return ""


def _needs_root(paper: Paper, experiment: str) -> bool:
    source = paper.experiments[experiment]
    return isinstance(source, Experiment) and source.namespaces

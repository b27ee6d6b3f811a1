"""``penstock sweep``: simulates a scenario at many points and seeds on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.laboratory.drawing import need_matplotlib
from penstock.cli.spark.session import need_spark, spark_session, spark_told_in_one_line
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import NAME
from penstock.spark.lake.lake import create_lake
from penstock.spark.sweep.grid import MAX_RUNS, Grid, SweepError, build_grid
from penstock.spark.sweep.measures import MEASURES
from penstock.spark.tables.table import OpenTable, TableError

if TYPE_CHECKING:
    from penstock.spark.sweep.summary import Estimate, SweepSummary

SHOWN: Final = (
    "recovery_s",
    "published_msgs_per_s",
    "delivered_msgs_per_s",
    "most_queued_bytes",
    "pubend_jain",
    "violations",
)
"""The measures printed for a scenario of brokers; other services name their own.  JSON has all."""


def sweep(
    scenario: Path,
    /,
    *,
    param: tuple[str, ...] = (),
    seeds: int = 5,
    master: str = "local[*]",
    lake: Path = Path("out/lake"),
    name: str = "",
    measure: str = "",
    out: Path = Path("out/sweeps"),
    resume: bool = False,
    json: bool = False,
) -> None:
    """Simulate a scenario at every combination of parameters and with several seeds, on Spark.

    Prints and draws medians over the seeds; the lake holds the telemetry of every run.

    Parameters
    ----------
    scenario
        A scenario file (docs/reference/scenario.md).
    param
        PATH=a,b,c or PATH=first:last:step, such as congestion.recovering_threshold=0:2:0.5; may
        be given several times (docs/reference/lake.md).
    seeds
        How many seeds each point is run with.
    master
        The Spark master: local[*] for this machine, spark://host:port for a cluster.
    lake
        The telemetry lake to write the runs to; created if it does not exist.
    name
        The sweep's name (default: the scenario's name with "-sweep").
    measure
        The measure to draw (default: recovery_s, or the main measure of the scenario's service).
    out
        Where to write the figure.
    resume
        Do not run again what the lake has of this sweep, after it was stopped or killed.
    json
        Print the whole result as JSON.
    """
    with told_in_one_line(ScenarioError, SweepError, status=MISUSED):
        grid = build_grid(scenario, param)
    called = name or f"{grid.name}-sweep"
    measure = measure or next(iter(grid.measures()))
    _check(called, seeds, measure, grid)
    need_spark("sweep")
    need_matplotlib("sweep")
    with told_in_one_line(TableError, OSError, status=MISUSED):
        opened = create_lake(lake)

    summary = _run(opened, called, grid, seeds, master, resume=resume)
    from penstock.spark.sweep.figure import draw_sweep

    figures = draw_sweep(called, measure, summary.estimates, grid.parameters, out)
    if json:
        print(msgspec.json.encode(summary).decode())
    else:
        _show(summary, grid, figures)
    if summary.failed:
        run, reason = next(iter(summary.failed.items()))
        raise UserError(f"{len(summary.failed)} of {summary.runs} runs failed; {run}: {reason}")


def _run(
    lake: OpenTable, called: str, grid: Grid, seeds: int, master: str, *, resume: bool
) -> SweepSummary:
    """Simulate and aggregate, with a progress bar over the runs."""
    from penstock.spark.sweep.resume import jobs_left
    from penstock.spark.sweep.summary import summarise
    from penstock.spark.sweep.sweep import jobs_of, run_sweep

    jobs = jobs_of(called, grid, seeds)
    left = jobs_left(lake, called, grid, jobs) if resume else jobs
    done_before = len(jobs) - len(left)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
        task = progress.add_task("starting Spark", total=len(jobs))

        def tell(done: int) -> None:
            progress.update(task, completed=done_before + done)

        with (
            spark_session("sweep", master) as spark,
            spark_told_in_one_line(),
            told_in_one_line(TableError, OSError),
        ):
            progress.update(task, description=f"{len(grid.points)} points × {seeds} seeds")
            run_sweep(spark, lake, called, grid, left, tell)
            progress.update(task, description="medians")
            return summarise(spark, lake, called, [job.run for job in jobs])


def _check(called: str, seeds: int, measure: str, grid: Grid) -> None:
    """Check before Spark starts everything except the parameters themselves."""
    if not NAME.fullmatch(called):
        raise UserError(f"--name {called}: use letters, digits, dots, dashes, underscores", MISUSED)
    if seeds < 1:
        raise UserError(f"--seeds {seeds}: must be at least 1", MISUSED)
    count = len(grid.points) * seeds
    if count > MAX_RUNS:
        raise UserError(
            f"{len(grid.points)} points × {seeds} seeds are {count} runs; at most {MAX_RUNS} are "
            "allowed: give fewer values or seeds",
            MISUSED,
        )
    known = grid.measures()
    if measure not in known:
        raise UserError(f"--measure {measure}: must be one of {', '.join(known)}", MISUSED)


def _show(summary: SweepSummary, grid: Grid, figures: list[Path]) -> None:
    console = Console()
    console = Console(width=None if console.is_terminal else 160)
    found = {each.measure for each in summary.estimates}
    shown = SHOWN if "guaranteed" in grid.services else set(grid.measures()) - set(MEASURES)
    measures = [measure for measure in grid.measures() if measure in shown and measure in found]
    varied = [path for path, values in grid.parameters.items() if len(values) > 1]
    fixed = [
        f"{path} = {values[0]}" for path, values in grid.parameters.items() if path not in varied
    ]
    table = Table(title=f"{summary.sweep}: {summary.runs} runs", title_justify="left")
    for path in varied:
        table.add_column(path.rpartition(".")[2], overflow="fold")
    for measure in measures:
        table.add_column(measure, justify="right", overflow="fold")
    for point in grid.points:
        own = {each.measure: each for each in summary.estimates if each.parameters == point}
        cells = [str(point[path]) for path in varied]
        table.add_row(*cells, *(_cell(own.get(measure)) for measure in measures))
    console.print(table)
    console.print("[dim]median (5th … 95th percentile over the seeds)[/]")
    if fixed:
        console.print(f"[dim]everywhere: {', '.join(fixed)}[/]")
    for figure in figures:
        console.print(f"figure: {figure}")


def _cell(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    median, low, high = map(_number, (estimate.median, estimate.low, estimate.high))
    return median if low == high else f"{median} ({low} … {high})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"

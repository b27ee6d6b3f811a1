"""Sweeps: runs simulations as Spark tasks, and lands their telemetry in a lake.

1. Every point of the grid is run with every seed, each run as one task: a simulation takes seconds
   to minutes, so that a task's overhead is negligible and the last one to finish delays little.
2. A task returns the run's telemetry, and the run's own records (``run_records``), as Arrow batches
   in the lake's schema; Spark writes them, and one commit lands a chunk of runs.  Landed runs stay
   if the sweep is stopped.
3. A simulation depends only on its point and seed: a run replaces an earlier one of the same name.
4. A simulation that fails is a run with one record, ``failed``, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.core.trace import TraceRecord
from penstock.lab.run import run
from penstock.lab.telemetry.run_records import RunFacts, failure_records, run_records
from penstock.lab.telemetry.telemetry import Telemetry, record_columns
from penstock.lab.worlds.sim import SimRun
from penstock.spark.lake.frame import SCHEMA, write_files
from penstock.spark.lake.lake import replacing
from penstock.spark.lake.writer import day_of
from penstock.spark.sweep.grid import Grid, Point
from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import OpenTable

RUNS_A_SLOT: Final = 8
"""Runs of a chunk per concurrent Spark task: at most an eighth of the time is idle at its end."""

BATCH_ROWS: Final = 10_000
"""Rows of one Arrow batch that a task returns to Spark."""

LOOK_EVERY_S: Final = 0.2
"""How often the progress is polled."""


class Job(msgspec.Struct, frozen=True):
    """One run of a sweep."""

    run: str
    point: Point
    seed: int


def jobs_of(sweep: str, grid: Grid, seeds: int) -> list[Job]:
    """Every run, the seeds of one point together."""
    return [
        Job(f"{sweep}.p{number:03}.s{seed:02}", point, seed)
        for number, point in enumerate(grid.points)
        for seed in range(1, seeds + 1)
    ]


def run_sweep(
    spark: SparkSession,
    lake: OpenTable,
    sweep: str,
    grid: Grid,
    jobs: list[Job],
    progress: Callable[[int], None],
) -> None:
    """Run everything and land it; ``progress`` receives the number of finished runs."""
    size = RUNS_A_SLOT * spark.sparkContext.defaultParallelism
    for first in range(0, len(jobs), size):
        chunk = jobs[first : first + size]
        simulate = partial(_simulate, sweep, grid, chunk)
        numbers = spark.range(0, len(chunk), 1, len(chunk))
        runs = numbers.mapInArrow(simulate, SCHEMA)
        files = _watched(spark, partial(write_files, runs, lake), first, progress)
        lake.commit(f"swept {sweep}", files, removing=replacing([job.run for job in chunk]))
        progress(first + len(chunk))


def _watched(
    spark: SparkSession,
    write: Callable[[], list[DataFile]],
    done_before: int,
    progress: Callable[[int], None],
) -> list[DataFile]:
    """Do the work in a thread, and meanwhile report how many of its tasks are done."""
    tracker = spark.sparkContext.statusTracker()
    most = 0
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            while not wait([writing], LOOK_EVERY_S).done:
                stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                # A finished stage is no longer active: keep the count that was reached.
                most = max(most, done)
                progress(done_before + most)
        except BaseException:
            # Interrupted: without this the thread would wait for the whole chunk.
            spark.sparkContext.cancelAllJobs()
            raise
        return writing.result()


def _simulate(
    sweep: str, grid: Grid, jobs: list[Job], numbers: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The work of a task: the runs with these numbers, as rows of the lake."""
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            job = jobs[number]
            records = _records(sweep, grid, job)
            for first in range(0, len(records), BATCH_ROWS):
                yield _rows(job.run, records[first : first + BATCH_ROWS])


def _records(sweep: str, grid: Grid, job: Job) -> list[TraceRecord]:
    try:
        return _run(sweep, grid, job)
    except Exception as error:
        # One failed run among thousands is a result like the others, and is reported with them.
        return failure_records(facts_of(sweep, grid, job), f"{type(error).__name__}: {error}")


def facts_of(sweep: str, grid: Grid, job: Job) -> RunFacts:
    """What a run says of itself."""
    return RunFacts(str(grid.raw["name"]), SimRun.name, job.seed, job.point, sweep)


def _run(sweep: str, grid: Grid, job: Job) -> list[TraceRecord]:
    """Run a scenario."""
    scenario = grid.scenario(job.point)
    result = run(SimRun(scenario, job.seed, Telemetry()))
    return [*result.telemetry.records, *run_records(result, job.point, sweep)]


def _rows(run_name: str, records: list[TraceRecord]) -> pa.RecordBatch:
    """Records in the lake's schema, in the order of its columns."""
    columns = {
        **record_columns(records),
        "run": pa.array([run_name] * len(records), pa.string()),
        "day": pa.array([day_of(record.at) for record in records], pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)

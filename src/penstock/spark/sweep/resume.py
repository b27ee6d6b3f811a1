"""Which runs of a sweep a lake has already, for a sweep that was stopped or killed.

A run is done if the lake has it with the same scenario, parameters and seed, and it did not fail.
Runs land in chunks, each with one commit, so that a run is in the lake whole or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pyarrow.dataset as ds

from penstock.lab.telemetry.run_records import NODE, RunFacts
from penstock.spark.lake.lake import RUN
from penstock.spark.sweep.grid import Grid
from penstock.spark.sweep.sweep import Job, facts_of
from penstock.spark.tables.table import OpenTable


def jobs_left(lake: OpenTable, sweep: str, grid: Grid, jobs: Sequence[Job]) -> list[Job]:
    """The jobs whose runs must still be simulated."""
    done = _facts_of_runs(lake, [job.run for job in jobs])
    return [job for job in jobs if done.get(job.run) != facts_of(sweep, grid, job)]


def _facts_of_runs(lake: OpenTable, runs: Sequence[str]) -> dict[str, RunFacts]:
    """What the runs that did not fail say of themselves."""
    rows = lake.snapshot().delta.to_pyarrow_dataset()
    said = rows.to_table(
        columns=[RUN, "metric", "detail"],
        filter=ds.field(RUN).isin(list(runs))
        & (ds.field("node") == NODE)
        & ds.field("metric").isin(["run_facts", "failed"]),
    ).to_pylist()
    failed = {row[RUN] for row in said if row["metric"] == "failed"}
    return {
        row[RUN]: msgspec.json.decode(row["detail"], type=RunFacts)
        for row in said
        if row["metric"] == "run_facts" and row[RUN] not in failed
    }

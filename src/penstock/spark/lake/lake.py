"""The telemetry lake: a table of measurements, by run and day (``spark/tables``).

A run that is landed again replaces its earlier rows in the same commit.  Runs and days are dropped
whole, without rewriting files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Final

import pyarrow as pa

from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import (
    OpenTable,
    Snapshot,
    TableError,
    TableFormat,
    create_table,
    open_table,
)

RUN: Final = "run"
DAY: Final = "day"

FORMAT: Final = TableFormat(
    "penstock telemetry",
    pa.schema(
        [
            ("at_ns", pa.int64()),
            ("node", pa.string()),
            ("subject", pa.string()),
            ("metric", pa.string()),
            ("value", pa.float64()),
            ("detail", pa.string()),
            (RUN, pa.string()),
            (DAY, pa.string()),
        ]
    ),
    (RUN, DAY),
    "at_ns",
)
"""The columns are those of telemetry (docs/reference/telemetry.md)."""

MAX_NAMED_RUNS: Final = 20
"""How many runs an error lists."""


def create_lake(path: Path) -> OpenTable:
    """The lake in a directory, which is created if it is missing or empty."""
    _refuse_former(path)
    return create_table(path, FORMAT)


def open_lake(path: Path) -> OpenTable:
    """An existing lake; raises ``TableError`` if there is none."""
    _refuse_former(path)
    try:
        return open_table(path, FORMAT)
    except TableError as error:
        raise TableError(
            f"{error}; `penstock lake --path {path}` or `penstock run SCENARIO --lake {path}` "
            "creates a lake"
        ) from None


def _refuse_former(path: Path) -> None:
    if (path / "lake.json").exists():
        raise TableError(
            f"{path}: the lake has the format of an earlier version; convert it in its place with "
            f"`penstock lake convert --path {path}`"
        )


def runs_of(snapshot: Snapshot) -> list[str]:
    """The runs that have rows, sorted."""
    return sorted({file.partition[RUN] for file in snapshot.files.values()})


def files_of_runs(snapshot: Snapshot, runs: Iterable[str]) -> list[DataFile]:
    """The files of some runs."""
    wanted = frozenset(runs)
    return [file for file in snapshot.files.values() if file.partition[RUN] in wanted]


def replacing(runs: Iterable[str]) -> Callable[[Snapshot], list[str]]:
    """Removes everything that the lake has of some runs."""
    wanted = tuple(runs)
    return lambda snapshot: [file.path for file in files_of_runs(snapshot, wanted)]


def chosen_runs(lake: OpenTable, snapshot: Snapshot, wanted: Iterable[str]) -> list[str]:
    """The named runs; raises ``TableError`` for one that does not exist."""
    known = runs_of(snapshot)
    runs = list(dict.fromkeys(wanted))
    for run in runs:
        if run not in known:
            there = ", ".join(known[:MAX_NAMED_RUNS]) or "none"
            more = f" and {len(known) - MAX_NAMED_RUNS} more" if len(known) > MAX_NAMED_RUNS else ""
            raise TableError(f"{lake.path}: there is no run {run!r}; there are: {there}{more}")
    return runs


def drop(lake: OpenTable, runs: Iterable[str], before: date | None) -> list[DataFile]:
    """Drop runs, or the days before one; with both, what fits both.  Returns the files."""
    wanted = chosen_runs(lake, lake.snapshot(), runs)

    def chooses(file: DataFile) -> bool:
        if wanted and file.partition[RUN] not in wanted:
            return False
        return before is None or date.fromisoformat(file.partition[DAY]) < before

    return lake.drop("dropped", chooses)

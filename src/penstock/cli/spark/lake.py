"""``penstock lake``: the job that writes telemetry to the lake, and maintenance of its files."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from cyclopts import App
from rich.console import Console
from rich.table import Table

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.spark.session import need_spark, spark_session, spark_told_in_one_line
from penstock.cli.spark.wait import wait_for
from penstock.client.addresses import parse_addresses
from penstock.client.blocking import client as blocking
from penstock.client.errors import InvalidAddress, PenstockError
from penstock.core.clock import SECOND, in_seconds
from penstock.core.trace import telemetry_stream as telemetry_pubend
from penstock.spark.lake import conversion
from penstock.spark.lake.lake import create_lake, drop, files_of_runs, open_lake, runs_of
from penstock.spark.tables import compaction
from penstock.spark.tables.table import REMOVED_STAY_S, OpenTable, Snapshot, TableError

if TYPE_CHECKING:
    from penstock.spark.lake.landing import Landed

lake = App(name="lake", help="Write telemetry to a lake, a table in Delta's format; maintain it.")

ANSWER_WITHIN_S: Final = 30.0
"""Deadline for a broker's answer to the question which streams exist."""


@lake.default
def land(
    *,
    path: Path,
    url: str | None = None,
    once: bool = False,
    every: float = 5.0,
    skip_lost: bool = False,
    json: bool = False,
    master: str = "local[*]",
) -> None:
    """Write the telemetry that brokers publish (telemetry.publish = true) until Ctrl-C.

    A restarted job continues where it stopped: every row is in the lake exactly once.

    Parameters
    ----------
    path
        The lake's directory; created if it does not exist.
    url
        Any broker of the overlay, penstock://host:port (default: PENSTOCK_URL).
    once
        Write what the brokers have now, then exit.
    every
        Seconds between two micro-batches.
    skip_lost
        Skip rows that the brokers no longer keep, instead of failing.
    json
        Print one line of JSON for each micro-batch.
    master
        The Spark master.
    """
    if every <= 0:
        raise UserError("--every must be greater than 0", MISUSED)
    need_spark("lake")
    with told_in_one_line(InvalidAddress, status=MISUSED):
        where = "penstock://" + ",".join(map(str, parse_addresses(url)))
    with told_in_one_line(TableError, OSError, status=MISUSED):
        opened = create_lake(path)
    _check_published(where)
    told = _print_json if json else _print_line
    with spark_session("lake", master) as spark:
        from penstock.spark.lake.landing import Landing, telemetry_stream

        landing = Landing(opened, told)
        with spark_told_in_one_line(), told_in_one_line(TableError):
            stream = telemetry_stream(spark, where, skip_lost=skip_lost)
            query = landing.start(stream, every_s=None if once else every)
            wait_for(query)
        if not json:
            rows = opened.snapshot().rows
            print(f"{landing.total_rows:,} rows written; {path} holds {rows:,}")


def _check_published(url: str) -> None:
    """Check before Spark starts that there is telemetry to write."""
    with (
        told_in_one_line(PenstockError),
        blocking.connect(url, deadline_s=ANSWER_WITHIN_S) as client,
    ):
        streams = client.streams()
    if not any(fnmatchcase(pubend, telemetry_pubend("*")) for pubend in streams):
        raise UserError(
            f"no broker reachable from {url} publishes telemetry; set publish = true in "
            "[telemetry] of a broker's configuration"
        )


def _print_json(landed: Landed) -> None:
    print(msgspec.json.encode(landed).decode(), flush=True)


def _print_line(landed: Landed) -> None:
    if landed.rows:
        lag = f"{landed.lag_s:.1f} s behind the brokers"
        print(f"batch {landed.batch}: {landed.rows:,} rows, {lag}", flush=True)


@lake.command
def compact(*, path: Path, json: bool = False) -> None:
    """Merge many small files into few; running readers are not affected.

    Files that are no longer used are deleted once no reader can still have them open.

    Parameters
    ----------
    path
        The lake's directory.
    json
        Print the result as JSON.
    """
    with told_in_one_line(TableError, OSError):
        done = compaction.compact(_opened(path))
    if json:
        print(msgspec.json.encode(done).decode())
        return
    print(
        f"{done.files_before} files in {done.folders} folders were merged into {done.files_after}; "
        f"{done.unused_removed} unused files deleted "
        f"(unused files are kept for {REMOVED_STAY_S / 60:.0f} minutes)"
    )


@lake.command(name="drop")
def drop_runs(
    *, path: Path, run: tuple[str, ...] = (), before: date | None = None, json: bool = False
) -> None:
    """Drop runs, or the days before one; with both, what fits both.

    Parameters
    ----------
    path
        The lake's directory.
    run
        A run to drop; repeat it for several.
    before
        Drop the days before this one (UTC), as in 2026-01-31.
    json
        Print the result as JSON.
    """
    if not run and before is None:
        raise UserError("give --run NAME, --before DAY or both", MISUSED)
    opened = _opened(path)
    with told_in_one_line(TableError, OSError):
        dropped = drop(opened, run, before)
        opened.remove_unused()
    rows = sum(file.rows for file in dropped)
    if json:
        print(msgspec.json.encode({"files": len(dropped), "rows": rows}).decode())
        return
    print(
        f"{rows:,} rows in {len(dropped)} files dropped; the files are deleted by the next drop or "
        f"compact that comes {REMOVED_STAY_S / 60:.0f} minutes later"
    )


@lake.command
def convert(*, path: Path) -> None:
    """Convert a lake of an earlier version, in its place; no row is copied.

    Parameters
    ----------
    path
        The lake's directory.
    """
    with told_in_one_line(TableError, OSError, status=MISUSED):
        files = conversion.convert(path)
    print(f"{path} is a Delta table now; it holds the same {files} files")


@lake.command
def runs(*, path: Path, json: bool = False) -> None:
    """List the runs in a lake; does not need Spark.

    Parameters
    ----------
    path
        The lake's directory.
    json
        Print the list as JSON.
    """
    snapshot = _opened(path).snapshot()
    listed = [_run(snapshot, run) for run in runs_of(snapshot)]
    if json:
        print(msgspec.json.encode(listed).decode())
        return
    table = Table("run", "began (UTC)", box=None, header_style="bold")
    for column in ("seconds", "rows", "files", "kB"):
        table.add_column(column, justify="right")
    for each in listed:
        began = datetime.fromtimestamp(each["began_ns"] / SECOND, UTC)
        table.add_row(
            each["run"],
            f"{began:%Y-%m-%d %H:%M:%S}",
            f"{each['seconds']:,.1f}",
            f"{each['rows']:,}",
            f"{each['files']:,}",
            f"{each['size_bytes'] / 1000:,.1f}",
        )
    Console().print(table)


def _opened(path: Path) -> OpenTable:
    with told_in_one_line(TableError, OSError, status=MISUSED):
        return open_lake(path)


def _run(snapshot: Snapshot, run: str) -> dict[str, Any]:
    files = files_of_runs(snapshot, [run])
    began, ended = min(file.low_ns for file in files), max(file.high_ns for file in files)
    return {
        "run": run,
        "began_ns": began,
        "seconds": in_seconds(ended - began),
        "rows": sum(file.rows for file in files),
        "files": len(files),
        "size_bytes": sum(file.size_bytes for file in files),
    }

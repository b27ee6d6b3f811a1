"""``penstock report``: the Spark report on runs in a telemetry lake."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.table import Table

from penstock.cli.errors import MISUSED, UserError, told_in_one_line
from penstock.cli.laboratory.drawing import need_matplotlib
from penstock.cli.spark.session import need_spark, spark_session, spark_told_in_one_line
from penstock.spark.lake.lake import open_lake, runs_of
from penstock.spark.tables.table import TableError

if TYPE_CHECKING:
    from penstock.spark.report.report import Report


def report(
    *runs: str,
    lake: Path,
    html: Path | None = None,
    json: bool = False,
    master: str = "local[*]",
) -> None:
    """Report on runs: rates, utilisation, loss, fairness, recovery, queues, bottlenecks.

    Several runs are compared with the first one.

    Parameters
    ----------
    runs
        Names of runs, or patterns such as "e4-*".
    lake
        The telemetry lake that holds the runs.
    html
        Also write a self-contained page with figures.
    json
        Print the whole report as JSON.
    master
        The Spark master.
    """
    need_spark("report")
    if html is not None:
        need_matplotlib("report --html")
    from penstock.spark.report.build import build_report, matching_runs

    with told_in_one_line(TableError, OSError, status=MISUSED):
        opened = open_lake(lake)
        snapshot = opened.snapshot()
        if not runs:
            known = ", ".join(runs_of(snapshot)) or "none yet"
            raise UserError(f"name the runs to report on; {lake} has: {known}", MISUSED)
        chosen = matching_runs(opened, snapshot, runs)
    console = Console(stderr=True)
    with (
        console.status("starting Spark"),
        spark_session("report", master) as spark,
        spark_told_in_one_line(),
    ):
        built = build_report(spark, opened, snapshot, chosen)
    if html is not None:
        from penstock.spark.report.page import page

        with told_in_one_line(OSError):
            html.parent.mkdir(parents=True, exist_ok=True)
            html.write_text(page(built), encoding="utf-8")
    if json:
        print(msgspec.json.encode(built).decode())
    else:
        _show(built, html)


def _show(report: Report, html: Path | None) -> None:
    from penstock.spark.report.tables import tables

    console = Console()
    console = Console(width=None if console.is_terminal else 200)
    for table in tables(report):
        shown = Table(title=table.title, title_justify="left", header_style="bold")
        for name, numeric in table.columns:
            shown.add_column(name, justify="right" if numeric else "left", overflow="fold")
        for row in table.rows:
            shown.add_row(*row)
        console.print(shown)
        if table.note:
            console.print(f"[dim]{table.note}[/]")
    if html is not None:
        console.print(f"page with figures: {html}")

"""Builds a report: Spark computes the tables, and each run becomes one line of the summary."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, TypeVar

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from penstock.core.clock import in_seconds
from penstock.lab.telemetry.run_records import JUDGED, NODE, RunFacts
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import RUN, chosen_runs, files_of_runs, runs_of
from penstock.spark.report.causes import bottlenecks, recoveries
from penstock.spark.report.rates import fairness, links, queues, rates
from penstock.spark.report.report import (
    Bottleneck,
    Fairness,
    Fault,
    Link,
    Queue,
    Rate,
    Recovery,
    Report,
    Summary,
)
from penstock.spark.report.series import series
from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import OpenTable, Snapshot, TableError

MAX_RUNS: Final = 500
"""The collected rows must fit a page; a sweep's summary handles thousands of runs."""

NO_TIME_S: Final = 1e-9
"""Avoids a division by zero for a run with a single instant, which has no rates."""

Row = TypeVar("Row")


def matching_runs(lake: OpenTable, snapshot: Snapshot, wanted: Sequence[str]) -> list[str]:
    """The runs that were named, or whose names match a pattern such as ``e4-*``.

    Raises ``TableError`` for an unknown name and for a pattern without a match.
    """
    known = runs_of(snapshot)
    found: list[str] = []
    for name in wanted:
        fitting = [] if name in known else [run for run in known if fnmatchcase(run, name)]
        found += fitting or [name]
    runs = chosen_runs(lake, snapshot, found)
    if len(runs) > MAX_RUNS:
        raise TableError(f"{len(runs)} runs are chosen; a report takes at most {MAX_RUNS}")
    return runs


def build_report(
    spark: SparkSession, lake: OpenTable, snapshot: Snapshot, runs: Sequence[str]
) -> Report:
    """Compute the report on some runs of a snapshot."""
    files = files_of_runs(snapshot, runs)
    rows = read_files(spark, lake, files).persist()
    try:
        rated = rates(rows)
        tables = Report(
            lake=str(lake.path),
            runs=[],
            rates=_collected(rated, Rate),
            links=_collected(links(rows), Link),
            queues=_collected(queues(rows), Queue),
            fairness=_collected(fairness(rated), Fairness),
            recoveries=_collected(recoveries(rows), Recovery),
            bottlenecks=_collected(bottlenecks(rows), Bottleneck),
            faults=[],
            series=series(rows),
        )
        said = _collected(_said(rows), dict[str, Any])
    finally:
        rows.unpersist()
    began = {run: min(file.low_ns for file in files if file.partition[RUN] == run) for run in runs}
    faults = [
        Fault(
            each["run"],
            in_seconds(each["at_ns"] - began[each["run"]]),
            each["detail"],
            each["subject"],
        )
        for each in said
        if each["metric"] == "fault"
    ]
    summaries = [_summary(run, tables, files, said) for run in runs]
    return msgspec.structs.replace(tables, runs=summaries, faults=faults)


def _said(rows: DataFrame) -> DataFrame:
    """The records of runs about themselves (penstock.lab.telemetry.run_records)."""
    return (
        rows.where(sql.col("node") == NODE)
        .where(sql.col("metric").isin("run_facts", "fault") | (sql.col("detail") == JUDGED))
        .select("run", "at_ns", "subject", "metric", "value", "detail")
        .orderBy("run", "at_ns")
    )


def _collected(frame: DataFrame, kind: type[Row]) -> list[Row]:
    return msgspec.convert(frame.toArrow().to_pylist(), list[kind])  # type: ignore[valid-type]


def _summary(
    run: str, tables: Report, files: Sequence[DataFile], said: Sequence[dict[str, Any]]
) -> Summary:
    own = [file for file in files if file.partition[RUN] == run]
    judged = {each["metric"]: each for each in said if each["run"] == run}
    facts = judged.get("run_facts")
    of_run = _Tables(tables, run)
    busiest = max(of_run.links, key=lambda link: link.utilisation or 0.0, default=None)
    ended = [each.recovery_s for each in of_run.recoveries if each.recovery_s is not None]

    def rule(name: str) -> int | None:
        return int(judged[name]["value"]) if name in judged else None

    seconds = in_seconds(max(file.high_ns for file in own) - min(file.low_ns for file in own))
    return Summary(
        run=run,
        facts=msgspec.json.decode(facts["detail"], type=RunFacts) if facts else None,
        seconds=seconds,
        rows=sum(file.rows for file in own),
        published_msgs_per_s=of_run.messages("published_messages") / max(seconds, NO_TIME_S),
        delivered_msgs_per_s=of_run.messages("delivered_messages") / max(seconds, NO_TIME_S),
        lost=rule("lost"),
        duplicated=rule("duplicated"),
        out_of_order=rule("out_of_order"),
        dropped_messages=sum(link.dropped_messages for link in of_run.links),
        most_utilised_link=busiest.link if busiest and busiest.utilisation else "",
        utilisation=busiest.utilisation if busiest else None,
        most_queued_bytes=max((link.most_queued_bytes for link in of_run.links), default=0.0),
        pubend_jain=of_run.jain("pubends"),
        subscription_jain=of_run.jain("subscriptions"),
        recovery_s=max(ended, default=None),
        unrecovered=len(of_run.recoveries) - len(ended),
        limited_s=sum(each.limited_s for each in of_run.bottlenecks),
        bottleneck=of_run.bottleneck(),
    )


class _Tables:
    """The rows of a report that belong to one run."""

    def __init__(self, report: Report, run: str) -> None:
        def own(rows: Sequence[Any]) -> list[Any]:
            return [each for each in rows if each.run == run]

        self.rates: list[Rate] = own(report.rates)
        self.links: list[Link] = own(report.links)
        self.recoveries: list[Recovery] = own(report.recoveries)
        self.bottlenecks: list[Bottleneck] = own(report.bottlenecks)
        self._fairness: list[Fairness] = own(report.fairness)

    def messages(self, metric: str) -> float:
        """The sum of a counter over all subjects."""
        return sum(each.messages for each in self.rates if each.metric == metric)

    def jain(self, among: str) -> float | None:
        """Jain's index, if there is any member."""
        return next((each.jain for each in self._fairness if each.among == among), None)

    def bottleneck(self) -> str:
        """The cause that limited the publishers longest."""
        if not self.bottlenecks:
            return ""
        worst = max(self.bottlenecks, key=lambda each: each.limited_s)
        return " at ".join(part for part in (worst.link, worst.broker) if part)

"""The result of a sweep: for each point the median over its seeds, and an interval, by Spark.

The interval holds ``INTERVAL`` of the seeds: from the 5th to the 95th percentile.  A run that never
recovers has no recovery time; the number of seeds with one is given beside the median.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Final

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql

from penstock.lab.telemetry.run_records import JUDGED, MEASURED, NODE
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import chosen_runs, files_of_runs
from penstock.spark.report.causes import bottlenecks, extents, recoveries
from penstock.spark.report.rates import fairness, links, rates, seconds_of
from penstock.spark.sweep.measures import MEASURES
from penstock.spark.tables.table import OpenTable

INTERVAL: Final = (0.05, 0.95)


class Estimate(msgspec.Struct, frozen=True):
    """One measure at one point."""

    parameters: dict[str, Any]
    measure: str
    median: float
    low: float
    high: float
    seeds: int
    """The number of runs with a value."""


class SweepSummary(msgspec.Struct, frozen=True):
    """The result of a sweep."""

    sweep: str
    runs: int
    failed: dict[str, str]
    """Runs that did not finish, with the reason."""
    estimates: list[Estimate]


def run_measures(rows: DataFrame) -> DataFrame:
    """Every measure of every run: ``run``, ``measure``, ``value``."""
    rated = rates(rows)

    def where(column: str, is_value: str, value: str) -> Column:
        return sql.when(sql.col(column) == is_value, sql.col(value))

    def total(counter: str) -> Column:
        """All messages of a counter per second of the run."""
        seconds = seconds_of(sql.max("ended_ns") - sql.min("began_ns"))
        return sql.try_divide(sql.sum(where("metric", counter, "messages")), seconds)

    jain = "jain"
    wide = [
        rated.join(extents(rows), "run")
        .groupBy("run")
        .agg(
            total("published_messages").alias("published_msgs_per_s"),
            total("delivered_messages").alias("delivered_msgs_per_s"),
        ),
        fairness(rated)
        .groupBy("run")
        .agg(
            sql.max(where("among", "pubends", jain)).alias("pubend_jain"),
            sql.max(where("among", "subscriptions", jain)).alias("subscription_jain"),
        ),
        links(rows)
        .groupBy("run")
        .agg(
            sql.max("most_queued_bytes").alias("most_queued_bytes"),
            sql.sum("dropped_messages").alias("dropped_messages"),
            sql.max("utilisation").alias("utilisation"),
        ),
        recoveries(rows).groupBy("run").agg(sql.max("recovery_s").alias("recovery_s")),
        bottlenecks(rows).groupBy("run").agg(sql.sum("limited_s").alias("limited_s")),
    ]
    said = sql.col("detail").isin(JUDGED, MEASURED)
    judged = rows.where((sql.col("node") == NODE) & said)
    long = [frame.unpivot("run", tuple(frame.columns[1:]), "measure", "value") for frame in wide]
    judgement = judged.select("run", sql.col("metric").alias("measure"), "value")
    return reduce(DataFrame.unionByName, long, judgement)


def summarise(
    spark: SparkSession, lake: OpenTable, sweep: str, jobs: Sequence[str]
) -> SweepSummary:
    """Aggregate the runs of a sweep; raises ``TableError`` if one is not in the lake."""
    snapshot = lake.snapshot()
    runs = chosen_runs(lake, snapshot, jobs)
    rows = read_files(spark, lake, files_of_runs(snapshot, runs)).cache()
    try:
        said = rows.where(sql.col("node") == NODE)
        points = said.where("metric = 'run_facts'").select(
            "run", sql.get_json_object("detail", "$.parameters").alias("point")
        )
        low, high = INTERVAL
        estimated = (
            run_measures(rows)
            .where("value IS NOT NULL")
            .join(points, "run")
            .groupBy("point", "measure")
            .agg(
                sql.percentile("value", 0.5).alias("median"),
                sql.percentile("value", low).alias("low"),
                sql.percentile("value", high).alias("high"),
                sql.count(sql.lit(1)).alias("seeds"),
            )
        )
        found = estimated.toArrow().to_pylist()
        failed = said.where("metric = 'failed'").select("run", "detail").toArrow().to_pylist()
    finally:
        rows.unpersist()
    return SweepSummary(
        sweep,
        len(runs),
        {each["run"]: each["detail"] for each in failed},
        sorted((_estimate(each) for each in found), key=_order),
    )


def _estimate(row: Mapping[str, Any]) -> Estimate:
    return Estimate(
        msgspec.json.decode(row["point"]),
        row["measure"],
        row["median"],
        row["low"],
        row["high"],
        row["seeds"],
    )


def _order(estimate: Estimate) -> tuple[int, str, list[tuple[bool, Any]]]:
    """By measure, a service's own first; then by parameter values, numbers before words."""
    values = estimate.parameters.values()
    keys = [(isinstance(value, str), value) for value in values]
    measure = estimate.measure
    place = list(MEASURES).index(measure) if measure in MEASURES else -1
    return place, measure, keys

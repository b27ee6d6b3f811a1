"""The curves of a report's figures: values over the seconds of each run, computed by Spark.

A run of any length is reduced to at most ``MAX_POINTS`` intervals per curve: counters to the mean
rate of the interval, gauges to their maximum in it, so that a short peak stays visible.
"""

from __future__ import annotations

from typing import Final

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from penstock.core.clock import SECOND
from penstock.spark.report.causes import extents
from penstock.spark.report.rates import SERIES, steps
from penstock.spark.report.report import Point

MAX_POINTS: Final = 300
"""More than a figure can show."""

SHORTEST_S: Final = 2
"""Brokers measure about every second, each at its own time: shorter intervals miss some of them."""

COUNTED: Final = ("published_messages", "delivered_messages")
GAUGED: Final = ("doubt_horizon_lag_s", "queue_bytes")


def series(rows: DataFrame) -> list[Point]:
    """Every curve of every run."""
    drawn = _totals(rows).unionByName(_gauges(rows))
    at_s = (sql.col("place") * sql.col("width_s")).cast("double").alias("at_s")
    found = (
        drawn.select("run", "metric", "name", at_s, "value")
        .orderBy("run", "metric", "name", "at_s")
        .toArrow()
        .to_pylist()
    )
    return msgspec.convert(found, list[Point])


def _placed(rows: DataFrame) -> DataFrame:
    """Rows with the interval of their run that they fall into."""
    seconds = sql.ceil((sql.col("ended_ns") - sql.col("began_ns")) / (MAX_POINTS * SECOND))
    widths = extents(rows).withColumn("width_s", sql.greatest(sql.lit(SHORTEST_S), seconds))
    place = sql.expr(f"(at_ns - began_ns) div (width_s * {SECOND})")
    return rows.join(widths, "run").withColumn("place", place)


def _totals(rows: DataFrame) -> DataFrame:
    """The rates of all subjects together: each over its own measurements, then summed."""
    wanted = sql.col("metric").isin(*COUNTED)
    single = (
        steps(_placed(rows).where(wanted))
        .groupBy(*SERIES, "width_s", "place")
        .agg(sql.try_divide(sql.sum("step"), sql.sum("seconds")).alias("value"))
        .where("value IS NOT NULL")
    )
    added = single.groupBy("run", "metric", "width_s", "place").agg(sql.sum("value").alias("value"))
    return added.withColumn("name", sql.lit(""))


def _gauges(rows: DataFrame) -> DataFrame:
    """The maximum of each edge's lag and each link's queue."""
    # A lag belongs to the edge that has it, a queue to its link.
    name = sql.when(sql.col("metric") == "queue_bytes", sql.col("subject")).otherwise(
        sql.col("node")
    )
    return (
        _placed(rows)
        .where(sql.col("metric").isin(*GAUGED))
        .groupBy("run", "metric", name.alias("name"), "width_s", "place")
        .agg(sql.max("value").alias("value"))
    )

"""Edges that fell behind, their recovery times, and what limited the publishers, by Spark.

1. An edge is *behind* while one of its streams lags more than ``BEHIND_S``.  The time from falling
   behind to having caught up is an episode.
2. Its recovery begins with the last repair (a link mended, a broker restarted) that the run records
   within the episode; where no repair is known, as with brokers outside a run, when the edge was
   furthest behind.  It ends with the first measurement at which the edge has caught up.  An episode
   that never ends has no recovery time.
3. A change of a pubend's limit holds until the next one or the end of the run.  Those seconds are
   attributed to the broker and the link that the change names as its cause.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from penstock.spark.report.rates import seconds_of

BEHIND_S: Final = 2.0
"""An idle stream sends silence every second; twice that is behind.  The table of the Gryphon paper
uses the same bound for the end of a recovery."""


def extents(rows: DataFrame) -> DataFrame:
    """When each run began and ended."""
    return rows.groupBy("run").agg(
        sql.min("at_ns").alias("began_ns"), sql.max("at_ns").alias("ended_ns")
    )


def recoveries(rows: DataFrame) -> DataFrame:
    """Every episode of an edge that was behind."""
    lags = (
        rows.where("metric = 'doubt_horizon_lag_s'")
        .groupBy("run", "node", "at_ns")
        .agg(sql.max("value").alias("lag_s"))
    )
    over = Window.partitionBy("run", "node").orderBy("at_ns")
    behind = sql.col("lag_s") > BEHIND_S
    marked = lags.select("*", behind.alias("behind")).withColumns(
        {
            "begins": sql.col("behind")
            & ~sql.coalesce(sql.lag("behind").over(over), sql.lit(False)),
            "next_ns": sql.lead("at_ns").over(over),
        }
    )
    numbered = marked.withColumn("episode", sql.sum(sql.col("begins").cast("int")).over(over))
    episodes = (
        numbered.where("behind")
        .groupBy("run", "node", "episode")
        .agg(
            sql.min("at_ns").alias("from_ns"),
            sql.max_by("at_ns", "lag_s").alias("furthest_ns"),
            sql.max("lag_s").alias("furthest_s"),
            sql.max_by("next_ns", "at_ns").alias("caught_up_ns"),
        )
    )
    begins = sql.coalesce("repaired_ns", "furthest_ns")
    return (
        _with_repair(episodes, rows)
        .join(extents(rows), "run")
        .select(
            "run",
            sql.col("node").alias("broker"),
            seconds_of(sql.col("from_ns") - sql.col("began_ns")).alias("from_s"),
            "furthest_s",
            seconds_of(sql.col("caught_up_ns") - begins).alias("recovery_s"),
        )
        .orderBy("run", "from_s", "broker")
    )


def _with_repair(episodes: DataFrame, rows: DataFrame) -> DataFrame:
    """Episodes with the last repair within each, if there is one."""
    repairs = rows.where("metric = 'fault' AND detail IN ('mend', 'restart')").select(
        sql.col("run").alias("repaired_run"), sql.col("at_ns").alias("repair_ns")
    )
    within = (
        (sql.col("run") == sql.col("repaired_run"))
        & (sql.col("repair_ns") >= sql.col("from_ns"))
        & (sql.col("repair_ns") <= sql.coalesce("caught_up_ns", "repair_ns"))
    )
    return (
        episodes.join(repairs, within, "left")
        .groupBy(*episodes.columns)
        .agg(sql.max("repair_ns").alias("repaired_ns"))
    )


def _field(name: str) -> Column:
    """A field of a throttle's detail, which is JSON (``guaranteed.telemetry.ThrottleDetail``).

    Records of earlier versions have a sentence there; their cause is counted as unknown.
    """
    return sql.coalesce(sql.get_json_object("detail", f"$.{name}"), sql.lit(""))


def bottlenecks(rows: DataFrame) -> DataFrame:
    """For each cause, the seconds for which it limited pubends, and the number of decisions."""
    over = Window.partitionBy("run", "subject").orderBy("at_ns")
    held = (
        rows.where("metric = 'throttle'")
        .join(extents(rows), "run")
        .withColumn("until_ns", sql.coalesce(sql.lead("at_ns").over(over), sql.col("ended_ns")))
        .where("value > 0")
    )
    return (
        held.groupBy(
            "run",
            _field("broker").alias("broker"),
            _field("link").alias("link"),
        )
        .agg(
            sql.sum(seconds_of(sql.col("until_ns") - sql.col("at_ns"))).alias("limited_s"),
            sql.count(sql.lit(1)).alias("decisions"),
            sql.count_distinct("subject").alias("pubends"),
            sql.min("value").alias("lowest_msgs_per_s"),
        )
        .withColumn(
            "share",
            # A limit that was set in the last instant has lasted for no time.
            sql.coalesce(
                sql.try_divide(
                    sql.col("limited_s"), sql.sum("limited_s").over(Window.partitionBy("run"))
                ),
                sql.lit(1.0),
            ),
        )
        .orderBy("run", sql.desc("limited_s"))
    )

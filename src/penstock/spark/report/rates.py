"""Rates, links, fairness and queues of runs, computed by Spark from counters and gauges.

1. A counter's step is its increase from one measurement to the next; a counter that fell has
   restarted with its broker, and its step is its new value.
2. A mean rate is the sum of the steps over the time between the first and the last measurement.  A
   peak is the largest mean over ``PEAK_OVER_S``: single measurements are unevenly spaced in time.
3. A link's utilisation is the sent bytes over the bytes that its bandwidth would have allowed, if
   it has a limit; for all links there is the share of measurements with a non-empty queue.
4. Fairness is Jain's index (Σx)²/(n·Σx²) of the messages of each member that had any.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sql

from penstock.core.clock import SECOND

PEAK_OVER_S: Final = 5
"""Several measurements at the usual interval of one second."""

RATE_METRICS: Final = (
    "published_messages",
    "delivered_messages",
    "queue_consumed_messages",
    "alias_forwarded_messages",
)
"""Counters of messages."""

LINK_METRICS: Final = (
    "sent_bytes",
    "sent_messages",
    "dropped_messages",
    "queue_bytes",
    "bandwidth_bytes_per_s",
)

QUEUE_METRICS: Final = (
    "queue_bytes",
    "publications_waiting",
    "log_bytes",
    "buffered_bytes",
    "queue_messages",
    "alias_messages",
)
"""Gauges of everything that can grow and therefore has a bound."""

SERIES: Final = ("run", "node", "subject", "metric")


def _gained(value: Column, before: Column) -> Column:
    """A counter's step; null at the first measurement."""
    return sql.when(value < before, value).otherwise(value - before)


def seconds_of(nanoseconds: Column) -> Column:
    """A duration in seconds."""
    return nanoseconds / sql.lit(float(SECOND))


def steps(rows: DataFrame) -> DataFrame:
    """Counters with ``step`` and ``seconds`` since the previous measurement."""
    over = Window.partitionBy(*SERIES).orderBy("at_ns")
    return rows.withColumns(
        {
            "step": _gained(sql.col("value"), sql.lag("value").over(over)),
            "seconds": seconds_of(sql.col("at_ns") - sql.lag("at_ns").over(over)),
        }
    ).where("step IS NOT NULL")


def rates(rows: DataFrame) -> DataFrame:
    """Total, mean and peak of each message counter."""
    stepped = steps(rows.where(sql.col("metric").isin(*RATE_METRICS)))
    bucket = sql.expr(f"at_ns div {PEAK_OVER_S * SECOND}").alias("bucket")
    short = stepped.groupBy(*SERIES, bucket).agg(
        sql.sum("step").alias("step"), sql.sum("seconds").alias("seconds")
    )
    return (
        short.groupBy(*SERIES)
        .agg(
            sql.sum("step").alias("messages"),
            sql.try_divide(sql.sum("step"), sql.sum("seconds")).alias("mean_msgs_per_s"),
            sql.max(sql.expr(f"step / greatest(seconds, {PEAK_OVER_S})")).alias("peak_msgs_per_s"),
        )
        # Measurements at a single instant give no rate.
        .where("mean_msgs_per_s IS NOT NULL")
        .orderBy(*SERIES)
    )


def links(rows: DataFrame) -> DataFrame:
    """The traffic, the utilisation and the queue of each link."""
    columns = {
        metric: sql.max(sql.when(sql.col("metric") == metric, sql.col("value"))).alias(metric)
        for metric in LINK_METRICS
    }
    at_once = (
        rows.where(sql.col("metric").isin(*LINK_METRICS))
        .groupBy("run", "subject", "at_ns")
        .agg(*columns.values())
    )
    over = Window.partitionBy("run", "subject").orderBy("at_ns")

    def gained(metric: str) -> Column:
        return _gained(sql.col(metric), sql.lag(metric).over(over))

    measured = at_once.select(
        "run",
        sql.col("subject").alias("link"),
        "queue_bytes",
        gained("sent_bytes").alias("bytes"),
        gained("sent_messages").alias("messages"),
        gained("dropped_messages").alias("dropped"),
        seconds_of(sql.col("at_ns") - sql.lag("at_ns").over(over)).alias("seconds"),
        # The link's capacity since the last measurement, at the limit of that time.
        (sql.lag("bandwidth_bytes_per_s").over(over)).alias("limit"),
    )
    limited = sql.col("limit") > 0
    capacity = sql.sum(sql.when(limited, sql.col("limit") * sql.col("seconds")))
    return (
        measured.groupBy("run", "link")
        .agg(
            sql.coalesce(sql.sum("bytes"), sql.lit(0.0)).alias("sent_bytes"),
            sql.try_divide(sql.sum("bytes"), sql.sum("seconds")).alias("mean_bytes_per_s"),
            sql.try_divide(sql.sum(sql.when(limited, sql.col("bytes"))), capacity).alias(
                "utilisation"
            ),
            sql.avg((sql.col("queue_bytes") > 0).cast("double")).alias("waiting_share"),
            sql.max("queue_bytes").alias("most_queued_bytes"),
            sql.coalesce(sql.sum("messages"), sql.lit(0.0)).alias("sent_messages"),
            sql.coalesce(sql.sum("dropped"), sql.lit(0.0)).alias("dropped_messages"),
        )
        .orderBy("run", "link")
    )


def queues(rows: DataFrame) -> DataFrame:
    """The sizes of everything that can grow."""
    return (
        rows.where(sql.col("metric").isin(*QUEUE_METRICS))
        .groupBy(*SERIES)
        .agg(
            sql.max("value").alias("largest"),
            sql.percentile("value", 0.99).alias("p99"),
            sql.avg("value").alias("mean"),
            sql.max_by("value", "at_ns").alias("last"),
        )
        .where("largest > 0")
        .orderBy(*SERIES)
    )


def fairness(rated: DataFrame) -> DataFrame:
    """Jain's index among pubends and among subscriptions, from ``rates``."""
    share = sql.col("messages")
    among = sql.when(sql.col("metric") == "published_messages", "pubends").otherwise(
        "subscriptions"
    )
    return (
        rated.where("metric IN ('published_messages', 'delivered_messages') AND messages > 0")
        .groupBy("run", among.alias("among"))
        .agg(
            sql.count(sql.lit(1)).alias("members"),
            (sql.sum(share) ** 2 / (sql.count(sql.lit(1)) * sql.sum(share * share))).alias("jain"),
        )
        .orderBy("run", "among")
    )

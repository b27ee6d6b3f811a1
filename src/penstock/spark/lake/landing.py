"""The Structured Streaming job that writes the brokers' telemetry to a lake ("lands" it).

1. The rows come from the streams ``telemetry@BROKER`` through Penstock's own source, from the
   earliest kept row, or from the job's checkpoint, which is in the lake.
2. A micro-batch becomes files in the folders of its runs and days, and one commit that carries the
   query's name and the batch's number.  A batch that is repeated after a crash is recognised by
   them, so that every row is in the lake exactly once.
3. Small files are compacted as the job goes, every ``COMPACT_EVERY`` batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.clock import SECOND, in_seconds
from penstock.core.trace import telemetry_stream as telemetry_pubend
from penstock.spark.lake.frame import write_files
from penstock.spark.tables.compaction import compact
from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import CHECKPOINTS, CommitConflict, OpenTable

COMPACT_EVERY: Final = 60
"""In micro-batches: five minutes of small files at the usual interval."""

ATTRIBUTES: Final = (
    "run string, at_ns bigint, node string, subject string, metric string, value double"
)
"""The typed attributes of a telemetry message; its payload is the detail."""

MAX_ROWS_A_BATCH: Final = 1_000_000
"""After a long absence the job catches up in steps of a few seconds, each committed by itself."""

NAMELESS: Final = "unnamed"
"""The run of a row that names none: a folder must have a name."""

CHECKPOINT: Final = "telemetry"


class Landed(msgspec.Struct, frozen=True):
    """The result of one micro-batch."""

    batch: int
    rows: int
    total_rows: int
    """Since the job started."""
    newest_ns: int
    """The instant of the newest row."""
    lag_s: float
    """The age of that row when it became visible in the lake."""


class Landing:
    """Lands micro-batches; calls ``on_landed`` after each."""

    def __init__(self, lake: OpenTable, on_landed: Callable[[Landed], None]) -> None:
        self.total_rows = 0
        self._lake = lake
        self._on_landed = on_landed

    def start(self, rows: DataFrame, *, every_s: float | None) -> StreamingQuery:
        """Land a stream of rows; with ``every_s`` None, land the available rows and end."""
        writer = rows.writeStream.foreachBatch(self.land).option(
            "checkpointLocation", str(self._lake.path / CHECKPOINTS / CHECKPOINT)
        )
        if every_s is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds").start()

    def land(self, rows: DataFrame, batch: int) -> None:
        """Land one micro-batch, unless it is in the lake already."""
        query = rows.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        assert query is not None, "a micro-batch belongs to a query"
        files: list[DataFile] = []
        if self._lake.snapshot().last_batch(query) < batch:
            files = write_files(rows.repartition("run", "day"), self._lake)
            self._lake.commit(f"landed batch {batch}", files, batch=(query, batch))
        count = sum(file.rows for file in files)
        newest = max((file.high_ns for file in files), default=0)
        self.total_rows += count
        lag_s = in_seconds(max(0, time.time_ns() - newest)) if newest else 0.0
        self._on_landed(Landed(batch, count, self.total_rows, newest, lag_s))
        if batch % COMPACT_EVERY == COMPACT_EVERY - 1:
            try:
                compact(self._lake)
            except CommitConflict:
                # Another process compacts at the same time, which has the same effect.
                return


def telemetry_stream(spark: SparkSession, url: str, *, skip_lost: bool = False) -> DataFrame:
    """The brokers' own telemetry, as a stream of the lake's rows.

    ``skip_lost`` skips rows that the brokers no longer keep; otherwise they are an error.
    """
    messages = (
        spark.readStream.format("penstock")
        .option("url", url)
        .option("pubends", telemetry_pubend("*"))
        .option("attributes", ATTRIBUTES)
        .option("typeMismatch", "null")
        .option("startingOffsets", "earliest")
        .option("maxRowsPerTrigger", MAX_ROWS_A_BATCH)
        .option("failOnDataLoss", str(not skip_lost).lower())
        .load()
    )
    return lake_rows(messages)


def lake_rows(messages: DataFrame) -> DataFrame:
    """Telemetry messages, with attributes as columns and a payload, as rows of the lake.

    A message without an instant, a metric or a value is no measurement and is left out.
    """
    measured = messages.where("at_ns IS NOT NULL AND metric IS NOT NULL AND value IS NOT NULL")
    return measured.select(
        "at_ns",
        _text("node"),
        _text("subject"),
        "metric",
        "value",
        _text("payload").alias("detail"),
        sql.when(_text("run") == "", NAMELESS).otherwise(sql.col("run")).alias("run"),
        sql.expr(f"date_format(timestamp_seconds(at_ns div {SECOND}), 'yyyy-MM-dd')").alias("day"),
    )


def _text(column: str) -> Column:
    """A column as text that is never null."""
    return sql.coalesce(sql.col(column).cast("string"), sql.lit("")).alias(column)

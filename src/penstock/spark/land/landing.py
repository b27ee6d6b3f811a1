"""The streaming job that keeps a Delta table of the messages that match a selector.

1. A micro-batch becomes files with a column for each attribute (``task``), and one commit that
   carries the query's name and the batch's number: a batch that is repeated after a crash is
   recognised, so that every message is in the table exactly once.
2. Tasks choose columns for new attributes by themselves.  If two chose differently, the driver
   decides and the batch is written again: a batch that is read again has the same rows.
3. New columns are added to the table in a commit of their own, before the rows.
4. Each commit notes the last tick of each pubend, so that a version can be found by its content.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.core.clock import Instant, in_seconds
from penstock.core.intervals import Tick
from penstock.spark.land.columns import DAY, FIXED, AttributeColumn, Columns, columns_of
from penstock.spark.land.task import TOLD, Told, write_messages
from penstock.spark.schema import ALL_TYPED, TICK
from penstock.spark.tables.compaction import compact
from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import (
    CHECKPOINTS,
    CommitConflict,
    OpenTable,
    Snapshot,
    TableError,
    TableFormat,
    create_table,
    open_table,
)

FORMAT: Final = TableFormat("penstock messages", FIXED, (DAY,), TICK)

CHECKPOINT: Final = "messages"
COMPACT_EVERY: Final = 60
"""In micro-batches: five minutes of small files at the usual interval."""

MAX_ROWS_A_BATCH: Final = 1_000_000
"""A job that is far behind catches up in steps, each committed by itself."""

TICKS_NOTE: Final = "penstock.ticks"
"""Where a commit notes the last tick of each pubend, as JSON."""


class Landed(msgspec.Struct, frozen=True):
    """The result of one micro-batch."""

    batch: int
    rows: int
    total_rows: int
    """Since the job started."""
    new_columns: list[str]
    newest_ns: Instant
    lag_s: float
    """The age of the newest message when it became visible in the table."""


class Version(msgspec.Struct, frozen=True):
    """One commit of a table."""

    version: int
    at_ms: int
    what: str
    last_ticks: dict[str, Tick]
    """The newest message of each pubend that the commit added."""


def create_message_table(path: Path, selector: str) -> OpenTable:
    """The table in a directory; raises ``TableError`` if it holds what another selector chose."""
    table = create_table(path, FORMAT, selector)
    kept = table.snapshot().delta.metadata().description or ""
    if kept != selector:
        raise TableError(
            f"{path}: the table holds what the selector {kept!r} chose, and not {selector!r}; name "
            "another directory, or give the same selector"
        )
    return table


def open_message_table(path: Path) -> OpenTable:
    """An existing table; raises ``TableError``."""
    return open_table(path, FORMAT)


class MessageLanding:
    """Lands micro-batches; calls ``on_landed`` after each."""

    def __init__(self, table: OpenTable, on_landed: Callable[[Landed], None]) -> None:
        self.total_rows = 0
        self._table = table
        self._on_landed = on_landed

    def start(self, messages: DataFrame, *, every_s: float | None) -> StreamingQuery:
        """Land a stream; with ``every_s`` None, land what is stored now and end."""
        writer = messages.writeStream.foreachBatch(self.land).option(
            "checkpointLocation", str(self._table.path / CHECKPOINTS / CHECKPOINT)
        )
        if every_s is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{round(every_s * 1000)} milliseconds").start()

    def land(self, messages: DataFrame, batch: int) -> None:
        """Land one micro-batch, unless it is in the table already."""
        query = messages.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
        assert query is not None, "a micro-batch belongs to a query"
        before = self._table.snapshot()
        files: list[DataFile] = []
        added: list[AttributeColumn] = []
        if before.last_batch(query) < batch:
            files, added = self._write(messages, before, (query, batch))
        count = sum(file.rows for file in files)
        newest = max((file.high_ns for file in files), default=0)
        self.total_rows += count
        lag_s = in_seconds(max(0, time.time_ns() - newest)) if newest else 0.0
        names = [each.column for each in added]
        self._on_landed(Landed(batch, count, self.total_rows, names, newest, lag_s))
        if batch % COMPACT_EVERY == COMPACT_EVERY - 1:
            try:
                compact(self._table)
            except CommitConflict:
                # Another process compacts at the same time, which has the same effect.
                return

    def _write(
        self, messages: DataFrame, before: Snapshot, batch: tuple[str, int]
    ) -> tuple[list[DataFile], list[AttributeColumn]]:
        columns = columns_of(before.columns)
        known = columns.all()
        with self._table.staging() as staged:
            told = _written(messages, staged, columns)
            named = {name for each in told for name in each.files}
            files = self._table.adopt(staged, named)
        added = columns.all()[len(known) :]
        self._add_columns(added)
        ticks = _last_ticks(told)
        notes = {TICKS_NOTE: msgspec.json.encode(ticks).decode()}
        self._table.commit(f"landed batch {batch[1]}", files, batch=batch, notes=notes)
        return files, added

    def _add_columns(self, added: Iterable[AttributeColumn]) -> None:
        have = set(self._table.snapshot().columns.names)
        self._table.add_columns(each.arrow for each in added if each.column not in have)


def _written(messages: DataFrame, staged: Path, columns: Columns) -> list[Told]:
    """Write a batch; afterwards ``columns`` has those that it uses."""
    while True:
        write = partial(write_messages, str(staged), columns.all())
        rows = messages.mapInArrow(write, TOLD).collect()
        told = [msgspec.json.decode(row["told"], type=Told) for row in rows]
        if _agree(columns, told):
            return told


def _agree(columns: Columns, told: Iterable[Told]) -> bool:
    """Take over the columns that tasks chose; whether all chose the same."""
    agreed = True
    for used in (each for task in told for each in task.columns):
        known = columns.known(used.attribute, used.kind)
        taken = any(each.column.casefold() == used.column.casefold() for each in columns.all())
        if known is None and not taken and not columns.is_full:
            columns.add(used)
        elif known != used:
            agreed = False
            columns.of(used.attribute, used.kind)
    return agreed


def _last_ticks(told: Iterable[Told]) -> dict[str, Tick]:
    found: dict[str, Tick] = {}
    for pubend, tick in (item for each in told for item in each.last_ticks.items()):
        found[pubend] = max(tick, found.get(pubend, 0))
    return found


def drop_days(table: OpenTable, before: date) -> list[DataFile]:
    """Drop the days before one; returns the files."""
    return table.drop(
        f"dropped the days before {before}",
        lambda file: date.fromisoformat(file.partition[DAY]) < before,
    )


def message_stream(spark: SparkSession, url: str, options: Mapping[str, Any]) -> DataFrame:
    """The messages as the job reads them; ``options`` are those of the source."""
    reader = (
        spark.readStream.format("penstock")
        .option("url", url)
        .option("attributes", ALL_TYPED)
        .option("startingOffsets", "earliest")
        .option("maxRowsPerTrigger", MAX_ROWS_A_BATCH)
    )
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def versions(table: OpenTable) -> list[Version]:
    """The commits that the table's log still tells of, the newest first."""
    return [
        Version(
            entry["version"],
            entry.get("timestamp", 0),
            entry.get("penstock", entry.get("operation", "")),
            msgspec.json.decode(entry.get(TICKS_NOTE, "{}"), type=dict[str, Tick]),
        )
        for entry in table.snapshot().delta.history()
    ]


def version_at(table: OpenTable, at: Tick) -> int | None:
    """The last version that holds nothing from this tick on; None if every version does."""
    last: int | None = None
    for each in reversed(versions(table)):
        if any(tick >= at for tick in each.last_ticks.values()):
            break
        last = each.version
    return last

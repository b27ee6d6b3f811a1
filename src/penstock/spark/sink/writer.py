"""The sink: ``df.writeStream.format("penstock")`` and ``df.write.format("penstock")``.

Exactly once, whatever Spark repeats (penstock.services.guaranteed.staging.staging has the rules):

1. A task stages its rows at the broker under (query, batch, partition), with a unique name for
   every attempt, and returns the name to the driver.
2. The driver commits the stages of the successful attempts.  Stages of other attempts and those
   left by a crash are dropped.
3. A batch that is repeated after its commit stages nothing and commits nothing: the broker knows
   the last batch of every query.  A query whose checkpoint was reset has another identity, so its
   first batch is not mistaken for an old one.

Only the tasks know the query's identity, so the driver learns it from their commit messages.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from penstock.spark.sink.options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.client.blocking import client as blocking

QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"
"""The properties of a task that name its query and batch."""


class NoQuery(RuntimeError):
    """Spark did not name the query of a task."""


@dataclass
class Staged(WriterCommitMessage):
    """The commit message of a task to the driver."""

    sink: str
    epoch: int
    stage: str
    rows: int


def write_stage(
    options: SinkOptions, sink: str, epoch: int, iterator: Iterator[pa.RecordBatch]
) -> Staged:
    from penstock.spark.sink.rows import batches_of

    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    name = f"{partition:06d}-{secrets.token_hex(6)}"
    with _connect(options, "writer") as client:
        stage = client.sink(sink, pubend=options.pubend).stage(epoch, name)
        for record_batch in iterator:
            for batch in batches_of(record_batch):
                stage.write(batch)
        return Staged(sink, epoch, name, stage.rows)


def commit_stages(options: SinkOptions, staged: Sequence[Staged]) -> None:
    """Publish all staged rows, once."""
    if not staged:
        return
    sink, epoch = staged[0].sink, staged[0].epoch
    with _connect(options, "committer") as client:
        client.sink(sink, pubend=options.pubend).commit(
            epoch,
            {each.stage: each.rows for each in staged if each.rows},
            deadline_s=options.commit_timeout_s,
        )


def drop_stages(options: SinkOptions, staged: Sequence[Staged]) -> None:
    """Drop stages that will not be committed; those that cannot be dropped now expire later."""
    if staged:
        with _connect(options, "committer") as client:
            client.sink(staged[0].sink, pubend=options.pubend).drop(staged[0].epoch)


def _connect(options: SinkOptions, purpose: str) -> blocking.Client:
    # Imported here: for every batch Spark starts a process that only plans the write.
    from penstock.client.blocking import client as blocking

    return blocking.connect(options.url, name=f"spark-{purpose}", deadline_s=options.timeout_s)


def _known(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    return [message for message in messages if isinstance(message, Staged)]


class PenstockStreamWriter(DataSourceStreamArrowWriter):
    """The sink of a streaming query."""

    def __init__(self, options: SinkOptions) -> None:
        """Spark creates one for planning, one in each task and one for every commit."""
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: stage its rows."""
        context = TaskContext.get()
        query = None if context is None else context.getLocalProperty(QUERY_ID)
        batch = None if context is None else context.getLocalProperty(BATCH_ID)
        if not query or batch is None:
            raise NoQuery(
                "Spark did not name the query and batch of this task "
                f"({QUERY_ID}, {BATCH_ID}); without them a repeated batch cannot be recognised"
            )
        return write_stage(self._options, f"spark/{query}", int(batch), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """In the driver: publish the batch."""
        commit_stages(self._options, _known(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """In the driver: the batch failed; Spark will repeat it under other stage names."""
        drop_stages(self._options, _known(messages))


class PenstockBatchWriter(DataSourceArrowWriter):
    """The sink of a batch query."""

    def __init__(self, options: SinkOptions) -> None:
        """Without the options sink and epoch every write is a new one."""
        self._options = options
        self._sink = options.sink or f"spark/{secrets.token_hex(8)}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: stage its rows."""
        return write_stage(self._options, self._sink, self._options.epoch, iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """In the driver: publish all rows."""
        commit_stages(self._options, _known(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """In the driver: drop the stages."""
        drop_stages(self._options, _known(messages))

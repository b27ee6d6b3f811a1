"""The sink: ``df.writeStream.format("penstock")`` and ``df.write.format("penstock")``.

Exactly once, whatever Spark repeats (penstock.services.guaranteed.staging.staging has the rules):

1. A task stages its rows at the broker under (query, batch, partition), with a unique name for
   every attempt, and returns the name to the driver.
2. The driver commits the stages of the successful attempts.  Stages of other attempts and those
   left by a crash are dropped.
3. A batch that is repeated after its commit stages nothing and commits nothing: the broker knows
   the last batch of every query.  A query whose checkpoint was reset has another identity, so its
   first batch is not mistaken for an old one.
4. Spark commits every batch, also one without rows, and numbers them without gaps.  So the driver
   names the batch before, and a broker that does not know it refuses to publish: another broker
   may have published this batch already.

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

from penstock.spark.plain_errors import plain_errors
from penstock.spark.sink.host import at_host
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
    once: bool = False


def write_stage(
    options: SinkOptions, sink: str, epoch: int, iterator: Iterator[pa.RecordBatch], *, once: bool
) -> Staged:
    """In a task: stage its rows, unless the epoch was committed before."""
    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    name = f"{partition:06d}-{secrets.token_hex(6)}"

    def stage_rows(client: blocking.Client) -> int:
        from penstock.spark.sink.rows import batches_of

        stage = client.sink(sink, pubend=options.pubend, once=once).stage(epoch, name)
        stage.open()
        if stage.is_committed:
            return 0
        for record_batch in iterator:
            for batch in batches_of(record_batch):
                stage.write(batch)
        return stage.rows

    return Staged(sink, epoch, name, at_host(options, "writer", stage_rows), once)


def commit_stages(
    options: SinkOptions, staged: Sequence[Staged], *, follows: int | None = None
) -> None:
    """In the driver: publish all staged rows, once."""
    if not staged:
        return
    first = staged[0]
    stages = {each.stage: each.rows for each in staged if each.rows}

    def commit(client: blocking.Client) -> None:
        sink = client.sink(first.sink, pubend=options.pubend, once=first.once)
        sink.commit(first.epoch, stages, follows=follows, deadline_s=options.commit_timeout_s)

    at_host(options, "committer", commit)


def drop_stages(options: SinkOptions, staged: Sequence[Staged]) -> None:
    """Drop stages that will not be committed; those that cannot be dropped now expire later."""
    if not staged:
        return
    first = staged[0]

    def drop(client: blocking.Client) -> None:
        sink = client.sink(first.sink, pubend=options.pubend, once=first.once)
        # A broker that does not host the pubend refuses here, and holds no stages.
        sink.stage(first.epoch, first.stage).open()
        sink.drop(first.epoch)

    at_host(options, "committer", drop)


def _known(messages: Sequence[WriterCommitMessage | None]) -> list[Staged]:
    return [message for message in messages if isinstance(message, Staged)]


@plain_errors
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
        return write_stage(self._options, f"spark/{query}", int(batch), iterator, once=False)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """In the driver: publish the batch, at the broker that published the one before."""
        first = batchId == 0 or self._options.adopt_checkpoint
        commit_stages(self._options, _known(messages), follows=None if first else batchId - 1)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """In the driver: the batch failed; Spark will repeat it under other stage names."""
        drop_stages(self._options, _known(messages))


@plain_errors
class PenstockBatchWriter(DataSourceArrowWriter):
    """The sink of a batch query."""

    def __init__(self, options: SinkOptions) -> None:
        """Without the options sink and epoch every write is a new one, of a sink used once."""
        self._options = options
        self._sink = options.sink or f"spark/{secrets.token_hex(8)}"
        self._once = not options.sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """In a task: stage its rows."""
        epoch, once = self._options.epoch, self._once
        return write_stage(self._options, self._sink, epoch, iterator, once=once)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """In the driver: publish all rows."""
        commit_stages(self._options, _known(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """In the driver: drop the stages."""
        drop_stages(self._options, _known(messages))

"""The work of a task: reads its intervals from a broker and passes them to Spark as Arrow batches.

A read is a subscription with an end (``Client.subscribe(…, end=…)``): it ends when it has received
everything, the brokers pace it like a recovery, and after a lost connection it continues where it
stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

from penstock.client.blocking import client as blocking
from penstock.client.errors import DataLoss, DeadlineExceeded
from penstock.client.guaranteed.message import MessageBatch
from penstock.content.rows.frame import Frame
from penstock.services.guaranteed.job_names import reader_name
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.source.offsets import DataLost
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.partition import Piece

BATCH_ROWS: Final = 50_000
"""Rows of an Arrow batch for Spark.  Handing over rows of 100 bytes from memory took 1.12 times as
long with 10,000, and 1.07 times with 250,000."""

BATCH_BYTES: Final = 8 << 20
"""Bytes at which an Arrow batch of large rows ends: it is copied whole several times on its way."""

WINDOW_BYTES: Final = 16 << 20
"""The task's buffer: two windows of a read, so that it never stalls for lack of window space."""


def open_client(options: SourceOptions, purpose: str) -> blocking.Client:
    """A connection; raises ``ConnectionFailed``, which names the address."""
    name = reader_name(options.cursor) if options.cursor else f"spark-{purpose}"
    return blocking.connect(options.url, name=name, deadline_s=options.timeout_s)


def read_batches(
    client: blocking.Client, options: SourceOptions, piece: Piece
) -> Iterator[MessageBatch]:
    """The messages of one piece, in order; raises if the read makes no progress in time."""
    subscription = client.subscribe(
        options.selector,
        start={piece.pubend: piece.low},
        end={piece.pubend: piece.high},
        on_loss="raise" if options.fail_on_data_loss else "skip",
        window_bytes=WINDOW_BYTES,
    )
    with subscription:
        reached = piece.low
        while True:
            try:
                yield from subscription.batches(deadline_s=options.timeout_s)
                return
            except DeadlineExceeded:
                # Long silence is no stall: only a read without any progress is given up.
                position = subscription.positions.get(piece.pubend, piece.low)
                if position <= reached:
                    raise
                reached = position
            except DataLoss as loss:
                raise DataLost(
                    f"pubend {loss.pubend!r} no longer stores the ticks [{loss.low}, {loss.high}) "
                    "that this batch has to read; set failOnDataLoss to false to continue without "
                    "them, and the option cursor to keep the log for this query"
                ) from None


def read_arrow(
    options: SourceOptions, rows: ArrowRows, pieces: Sequence[Piece]
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition, in batches of a suitable size for Spark."""
    if not pieces:
        return
    with open_client(options, "task") as client:
        gathered: dict[str, list[Frame]] = {}
        count = weight = 0
        for piece in pieces:
            for batch in read_batches(client, options, piece):
                gathered.setdefault(batch.pubend, []).append(batch.frame)
                count += len(batch)
                weight += batch.frame.weight
                if count >= BATCH_ROWS or weight >= BATCH_BYTES:
                    yield _joined(rows, gathered)
                    gathered = {}
                    count = weight = 0
        if gathered:
            yield _joined(rows, gathered)


def _joined(rows: ArrowRows, gathered: Mapping[str, Sequence[Frame]]) -> pa.RecordBatch:
    batches = [rows.of_frames(pubend, frames) for pubend, frames in gathered.items()]
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)

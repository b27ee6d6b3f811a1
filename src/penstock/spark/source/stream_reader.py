"""The streaming source: ``spark.readStream.format("penstock")``.

The reader exists twice.  One long-lived copy in a process beside the driver answers offset requests
and plans batches; pickled copies in the tasks read.  They share only the offsets.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from penstock.content.rows.frame import Frame
from penstock.core.clock import MINUTE, SECOND, Duration
from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.plain_errors import plain_errors
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.source.offsets import StreamOffset, resolve
from penstock.spark.source.options import SourceOptions
from penstock.spark.source.partition import IntervalPartition, Piece, partition
from penstock.spark.source.read import read_arrow, read_batches
from penstock.spark.source.stream_plan import Backlog, Limits
from penstock.spark.source.streams import Streams

LONGEST_SILENCE: Final[Duration] = 10 * MINUTE
"""After this much silence a query advances with an empty batch: otherwise a log that is trimmed
while nothing is published would overtake it, and silence would look like loss."""


@plain_errors
class PenstockStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets, plans and reads of one streaming query."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        """``schema`` must have been checked."""
        self._options = options
        self._schema = schema
        self._begin()

    def _begin(self) -> None:
        self._streams = Streams(self._options)
        limits = Limits(
            self._options.max_rows,
            self._options.max_bytes,
            self._options.max_span_ns,
            self._options.min_rows,
        )
        self._limits = limits
        self._backlog = Backlog(limits, self._read_frames)
        self._first: StreamOffset | None = None
        self._target: dict[str, Tick] | None = None
        self._rows_ends: dict[str, Tick] = {}
        self._held_back_since_s: float | None = None

    def __getstate__(self) -> tuple[SourceOptions, StructType]:
        """A task gets the options and the schema, but no connection."""
        return self._options, self._schema

    def __setstate__(self, state: tuple[SourceOptions, StructType]) -> None:
        """Start afresh in another process."""
        self._options, self._schema = state
        self._begin()

    # -- offsets ----------------------------------------------------------------------------

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Where the query begins; always the same answer within one process."""
        if self._first is None:
            streams = self._bounds()
            start = resolve(self._options.starting, streams, "startingOffsets")
            hosts = {pubend: bounds.broker for pubend, bounds in streams.items()}
            self._first = StreamOffset(dict(start), dict(start), hosts, initial=True)
            self._check(self._first, streams)
            self._hold(start, streams)
        return self._first.to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """One of the configured limits; any of them will do, since all are applied."""
        options = self._options
        if options.max_rows is not None:
            return ReadMaxRows(options.max_rows)
        if options.max_bytes is not None:
            return ReadMaxBytes(options.max_bytes)
        if options.min_rows is not None:
            return ReadMinRows(options.min_rows)
        if options.max_span_ns is not None:
            # Spark has no limit on time; any limit other than "all" tells it that there is one.
            return ReadMaxRows(2**63 - 1)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """Where the next batch ends; equal to ``start`` if there is nothing to read."""
        streams = self._bounds()
        begin = StreamOffset.from_json(start)
        if begin.initial and self._first is not None:
            begin = self._first
        self._check(begin, streams)
        if self._target is not None and self._options.fail_on_data_loss:
            begin.check_complete(streams)
        begin = begin.with_new(streams, self._options.starting.time)
        lows = {pubend: tick for pubend, tick in begin.next.items() if pubend in streams}
        self._rows_ends = {pubend: bounds.rows_end for pubend, bounds in streams.items()}
        if self._is_idle(lows, streams):
            return start
        heads = {pubend: max(lows[pubend], each) for pubend, each in self._heads(streams).items()}
        ends = heads
        if not isinstance(limit, ReadAllAvailable):
            if self._is_held_back(lows, heads):
                return start
            ends = self._backlog.ends(lows, heads)
        if ends == lows:
            return start
        self._held_back_since_s = None
        return StreamOffset({**begin.next, **ends}, begin.start, begin.hosts).to_json()

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """The heads of the streams, for the query's metrics."""
        streams = self._streams.bounds()
        heads = {pubend: bounds.head for pubend, bounds in streams.items()}
        hosts = {pubend: bounds.broker for pubend, bounds in streams.items()}
        ends = {pubend: bounds.rows_end for pubend, bounds in sorted(streams.items())}
        # Spark only shows this one: it may have more than an offset.
        offset = StreamOffset(heads, {}, hosts).to_json()
        return {**offset, "source": self._options.described, "rows_end": ends}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Read only what is stored now."""
        self._target = {pubend: bounds.head for pubend, bounds in self._streams.bounds().items()}

    def _bounds(self) -> dict[str, StreamBounds]:
        """What can be read now; with availableNow only of the pubends that were there then."""
        found = self._streams.bounds()
        if self._target is None:
            return found
        return {pubend: bounds for pubend, bounds in found.items() if pubend in self._target}

    def _hold(self, ticks: Mapping[str, Tick], streams: Mapping[str, StreamBounds]) -> None:
        """Move the cursor, at most to the heads: a start in the future holds nothing yet."""
        heads = {pubend: bounds.head for pubend, bounds in streams.items()}
        self._streams.hold({each: min(tick, heads.get(each, tick)) for each, tick in ticks.items()})

    def _is_idle(self, lows: Mapping[str, Tick], streams: Mapping[str, StreamBounds]) -> bool:
        """Whether there is only silence, and not so much that the query must advance."""
        return not any(
            lows[pubend] < bounds.rows_end or bounds.head - lows[pubend] > LONGEST_SILENCE
            for pubend, bounds in streams.items()
        )

    def _heads(self, streams: Mapping[str, StreamBounds]) -> dict[str, Tick]:
        heads = {pubend: bounds.head for pubend, bounds in streams.items()}
        if self._target is None:
            return heads
        target = self._target
        return {pubend: min(head, target[pubend]) for pubend, head in heads.items()}

    def _is_held_back(self, lows: Mapping[str, Tick], heads: Mapping[str, Tick]) -> bool:
        """Whether there are too few rows yet, and the maximum delay has not passed."""
        wanted = self._options.min_rows
        if wanted is None or self._target is not None:
            return False
        if self._backlog.rows_up_to(lows, heads, wanted) >= wanted:
            return False
        now_s = time.monotonic()
        if self._held_back_since_s is None:
            self._held_back_since_s = now_s
        return (now_s - self._held_back_since_s) * SECOND < self._options.max_trigger_delay_ns

    def _check(self, offset: StreamOffset, streams: Mapping[str, StreamBounds]) -> None:
        offset.check_identity(streams)
        if self._options.fail_on_data_loss:
            offset.check_kept(streams)

    def _read_frames(self, pubend: str, low: Tick, high: Tick) -> Iterable[Frame]:
        batches = read_batches(self._streams.client, self._options, Piece(pubend, low, high))
        return (batch.frame for batch in batches)

    # -- batches ----------------------------------------------------------------------------

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The tasks of the batch between two offsets."""
        last = StreamOffset.from_json(end)
        lows = StreamOffset.from_json(start).lows(last)
        return partition(
            lows,
            last.next,
            least=self._options.min_partitions,
            most=self._options.max_partitions,
            rows_ends=self._rows_ends,
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, IntervalPartition)
        rows = ArrowRows(self._schema, null_on_mismatch=self._options.null_on_type_mismatch)
        return read_arrow(self._options, rows, partition.pieces)

    def commit(self, end: dict[str, Any]) -> None:
        """Everything before ``end`` is processed: move the query's cursor, if it has one."""
        if self._options.cursor:
            self._hold(StreamOffset.from_json(end).next, self._streams.bounds())

    def stop(self) -> None:
        """Close the connection."""
        self._streams.close()

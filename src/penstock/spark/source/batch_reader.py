"""The batch source: ``spark.read.format("penstock")``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.plain_errors import plain_errors
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.source.batch_filters import Narrowing, narrowing_of
from penstock.spark.source.offsets import StreamOffset, resolve
from penstock.spark.source.options import BadOption, SourceOptions
from penstock.spark.source.partition import IntervalPartition, partition
from penstock.spark.source.read import read_arrow
from penstock.spark.source.streams import Streams


@plain_errors
class PenstockBatchReader(DataSourceReader):
    """One batch query over the stored messages."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        """``schema`` must have been checked."""
        self._options = options
        self._schema = schema
        self._narrowing = Narrowing()

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks of the query."""
        narrowing = self._narrowing
        streams = Streams(self._options)
        try:
            found = streams.bounds()
        finally:
            streams.close()
        lows, highs = self._bounds(found)
        kept = [pubend for pubend in highs if narrowing.admits(pubend)]
        parts = partition(
            {pubend: max(lows[pubend], narrowing.low) for pubend in kept},
            {pubend: min(highs[pubend], narrowing.high) for pubend in kept},
            least=self._options.min_partitions,
            most=self._options.max_partitions,
            rows_ends={pubend: bounds.rows_end for pubend, bounds in found.items()},
        )
        # Spark replaces an empty list by a partition of its own, which says nothing to a task.
        return parts or [IntervalPartition(())]

    def _bounds(self, streams: dict[str, StreamBounds]) -> tuple[dict[str, Tick], dict[str, Tick]]:
        lows = resolve(self._options.starting, streams, "startingOffsets")
        highs = resolve(self._options.ending, streams, "endingOffsets")
        if self._options.ending.time is not None:
            highs = {pubend: min(high, streams[pubend].head) for pubend, high in highs.items()}
        hosts = {pubend: bounds.broker for pubend, bounds in streams.items()}
        if self._options.fail_on_data_loss:
            StreamOffset(lows, lows, hosts).check_kept(streams)
        for pubend, high in highs.items():
            if high > streams[pubend].head:
                raise BadOption(
                    f"option endingOffsets: {high} is in the future of pubend {pubend!r}, which "
                    f"has reached tick {streams[pubend].head}"
                )
        return lows, highs

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition."""
        assert isinstance(partition, IntervalPartition)
        options = msgspec.structs.replace(
            self._options, selector=self._narrowing.and_also(self._options.selector)
        )
        rows = ArrowRows(self._schema, null_on_mismatch=options.null_on_type_mismatch)
        return read_arrow(options, rows, partition.pieces)


class PushdownBatchReader(PenstockBatchReader):
    """A reader for queries with pushed-down predicates (option ``pushdown``).

    A class of its own, because Spark rejects a reader with ``pushFilters`` while
    ``spark.sql.python.filterPushdown.enabled`` is off, which is its default, and a reader cannot
    query that setting.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Narrow the read by these predicates; Spark evaluates all of them again."""
        self._narrowing = narrowing_of(filters, self._schema)
        return filters

"""The batch source: ``spark.read.format("penstock")``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec
import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from penstock.core.intervals import Tick
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.schema_columns import ArrowRows
from penstock.spark.source.batch_filters import Narrowing, narrowing_of
from penstock.spark.source.offsets import StreamOffset, resolve
from penstock.spark.source.options import BadOption, SourceOptions
from penstock.spark.source.partition import IntervalPartition, partition
from penstock.spark.source.read import read_arrow
from penstock.spark.source.streams import Streams


class PenstockBatchReader(DataSourceReader):
    """One batch query over what the logs hold."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        """``schema`` was checked."""
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
        return partition(
            {pubend: max(lows[pubend], narrowing.low) for pubend in kept},
            {pubend: min(highs[pubend], narrowing.high) for pubend in kept},
            least=self._options.min_partitions,
            most=self._options.max_partitions,
            rows_ends={pubend: bounds.rows_end for pubend, bounds in found.items()},
        )

    def _bounds(self, streams: dict[str, StreamBounds]) -> tuple[dict[str, Tick], dict[str, Tick]]:
        lows = resolve(self._options.starting, streams, "startingOffsets")
        highs = resolve(self._options.ending, streams, "endingOffsets")
        hosts = {pubend: bounds.broker for pubend, bounds in streams.items()}
        if self._options.fail_on_data_loss:
            StreamOffset(lows, lows, hosts).check_kept(streams)
        for pubend, high in highs.items():
            if high > streams[pubend].head:
                raise BadOption(
                    f"option endingOffsets: pubend {pubend!r} has come to tick "
                    f"{streams[pubend].head}, and {high} lies in its future"
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
    """The same, for a query whose predicates Spark hands over (option ``pushdown``).

    It is a class of its own because Spark refuses a reader that has the method while
    ``spark.sql.python.filterPushdown.enabled`` is off, which is its default, and the reader cannot
    ask whether it is.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Read only what these can let through; Spark evaluates all of them again and decides."""
        self._narrowing = narrowing_of(filters, self._schema)
        return filters

"""Rows from the memory of Spark's tasks: the cost of Spark's Python API alone.

Every source in Python passes Arrow batches from a Python process to the JVM, which converts them to
rows.  This one does nothing else, so no source in Python can be faster on the same machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from penstock.spark.source.read import BATCH_ROWS

TASKS: Final = 2
"""As many as the session has cores."""


class MemoryReader(DataSourceReader):
    """Yields one batch repeatedly."""

    def __init__(self, schema: StructType, rows: int, payload_bytes: int) -> None:
        """``rows`` in total, with payloads of ``payload_bytes``."""
        self._schema = schema
        self._rows = rows
        self._payload_bytes = payload_bytes

    def partitions(self) -> Sequence[InputPartition]:
        """Equal parts."""
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one part."""
        batch = self._batch()
        left = self._rows // TASKS
        while left > 0:
            yield batch.slice(0, min(left, len(batch)))
            left -= len(batch)

    def _batch(self) -> pa.RecordBatch:
        ticks = pa.array(np.arange(BATCH_ROWS, dtype=np.int64))
        offsets = np.arange(BATCH_ROWS + 1, dtype=np.int32) * self._payload_bytes
        data = os.urandom(BATCH_ROWS * self._payload_bytes)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        payloads = pa.Array.from_buffers(pa.binary(), BATCH_ROWS, buffers)
        schema = to_arrow_schema(self._schema, timezone="UTC")
        times = ticks.view(schema.field("time").type)
        return pa.RecordBatch.from_arrays([ticks, times, payloads], schema=schema)


class MemorySource(DataSource):
    """``format("memory-rows")``: columns tick, time and payload."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "memory-rows"

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch query."""
        return MemoryReader(schema, int(self.options["rows"]), int(self.options["payload"]))


def memory_frame(spark: SparkSession, columns: str, rows: int, payload_bytes: int) -> DataFrame:
    """This many rows of the same size."""
    spark.dataSource.register(MemorySource)
    reader = spark.read.schema(columns).format("memory-rows")
    return reader.option("rows", rows).option("payload", payload_bytes).load()

"""The data source ``penstock`` of Spark: reading and writing, streams and batches.

    spark.dataSource.register(PenstockSource)
    spark.readStream.format("penstock").option("url", "penstock://127.0.0.1:7400").load()

Where the distribution is installed, Spark finds the source through the module ``pyspark_penstock``,
without registration.

Spark starts several Python processes for every batch that is written, and most of them need only
this class.  The modules that read and write are therefore imported where they are used.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from penstock.spark.plain_errors import plain_errors
from penstock.spark.schema import check_sink_schema, check_source_schema, default_schema

TABLE_OPTION: Final = "option."
"""Before the name of each option of a table that is being created."""


class TableLosesOptions(ValueError):
    """A table was given options that Spark would drop."""


@plain_errors
class PenstockSource(DataSource):
    """``format("penstock")``."""

    @classmethod
    def name(cls) -> str:
        """The name for ``format``."""
        return "penstock"

    def schema(self) -> StructType:
        """The columns, unless the query names its own.

        Spark asks with the table's options when a table is created, and reads the table without
        them later: a selector would be ignored silently.  Options of a table are prefixed.
        """
        if any(name.lower().startswith(TABLE_OPTION) for name in self.options):
            raise TableLosesOptions(
                "CREATE TABLE ... USING penstock cannot keep its options, because Spark does not "
                "give them to a source in Python when the table is read; use CREATE TEMPORARY VIEW "
                "... USING penstock OPTIONS (...), which keeps them"
            )
        return default_schema(self.options.get("attributes", ""))

    def reader(self, schema: StructType) -> DataSourceReader:
        """The reader of a batch query."""
        from penstock.spark.source.batch_reader import PenstockBatchReader, PushdownBatchReader
        from penstock.spark.source.options import read_source_options

        options = read_source_options(self.options, streaming=False)
        kind = PushdownBatchReader if options.pushdown else PenstockBatchReader
        return kind(options, check_source_schema(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """The reader of a streaming query."""
        from penstock.spark.source.options import read_source_options
        from penstock.spark.source.stream_reader import PenstockStreamReader

        options = read_source_options(self.options, streaming=True)
        return PenstockStreamReader(options, check_source_schema(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """The writer of a batch query; it can only append."""
        from penstock.spark.sink.options import read_sink_options
        from penstock.spark.sink.writer import PenstockBatchWriter

        options = read_sink_options(self.options, overwrite=overwrite)
        check_sink_schema(schema, map_as_text=options.map_as_text)
        return PenstockBatchWriter(options)

    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamWriter:
        """The writer of a streaming query, which appends every batch."""
        from penstock.spark.sink.options import read_sink_options
        from penstock.spark.sink.writer import PenstockStreamWriter

        options = read_sink_options(self.options, overwrite=overwrite)
        check_sink_schema(schema, map_as_text=options.map_as_text)
        return PenstockStreamWriter(options)

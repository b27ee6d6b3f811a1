"""A lake in Spark: reads the rows of one snapshot as a DataFrame, and writes rows to the lake.

Spark gets exactly the files that the snapshot names, never a directory, so it does not see files
that are being written or were removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.tables.data_file import DataFile
from penstock.spark.tables.table import OpenTable

COLUMNS: Final = (
    "at_ns bigint, node string, subject string, metric string, value double, detail string"
)
"""The columns in the files (docs/reference/telemetry.md)."""

SCHEMA: Final = f"{COLUMNS}, run string, day string"
"""With the columns in the folder names."""


def read_files(spark: SparkSession, lake: OpenTable, files: Iterable[DataFile]) -> DataFrame:
    """The rows of some files."""
    paths = [str(lake.path / file.path) for file in files]
    if not paths:
        return spark.createDataFrame([], SCHEMA)
    return spark.read.schema(SCHEMA).option("basePath", str(lake.path)).parquet(*paths)


def write_files(rows: DataFrame, lake: OpenTable) -> list[DataFile]:
    """Write rows into the lake's folders; they become visible once a commit names the files."""
    with lake.staging() as staged:
        # A subdirectory: Spark creates its output directory itself, and dates it later than ours.
        target = staged / "rows"
        rows.write.partitionBy("run", "day").option("compression", "zstd").parquet(str(target))
        return lake.adopt(target)

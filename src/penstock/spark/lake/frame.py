"""A lake as Spark sees it: the rows of one snapshot as a DataFrame, and rows into the lake.

Spark is handed the very files that the snapshot names, never a directory: what is being written or
was taken away does not exist for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from penstock.spark.lake.lake import DataFile, Lake

COLUMNS: Final = (
    "at_ns bigint, node string, subject string, metric string, value double, detail string"
)
"""What stands in the files (docs/reference/telemetry.md)."""

SCHEMA: Final = f"{COLUMNS}, run string, day string"
"""With what the folders say."""


def read_files(spark: SparkSession, lake: Lake, files: Iterable[DataFile]) -> DataFrame:
    """The rows of some files."""
    paths = [str(lake.path / file.path) for file in files]
    if not paths:
        return spark.createDataFrame([], SCHEMA)
    return spark.read.schema(SCHEMA).option("basePath", str(lake.data)).parquet(*paths)


def write_files(rows: DataFrame, lake: Lake) -> list[DataFile]:
    """Write rows into the lake's folders; they count once a commit names the files."""
    with lake.staging() as staged:
        # Spark wants to make the directory itself, and dates its parts of it later than we do.
        target = staged / "rows"
        rows.write.partitionBy("run", "day").option("compression", "zstd").parquet(str(target))
        return lake.adopt(target)

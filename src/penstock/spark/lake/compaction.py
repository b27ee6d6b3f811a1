"""Compaction: merges the many small files of a run's day into few.

1. A folder is compacted when it holds at least ``MIN_SMALL_FILES`` files below ``SMALL_BYTES``.
2. Their rows are rewritten, sorted by metric, node, subject and time, so that a report on one
   metric reads only a part of the file.
3. One commit removes the small files and adds the new ones.  A reader has a snapshot from before or
   from after, never both; the small files stay on the disk until no reader can be using them.
4. If another commit has removed one of the files meanwhile, nothing is committed, and the new files
   are deleted like all files that no commit names.
"""

from __future__ import annotations

from typing import Final

import msgspec
from pyspark.sql import SparkSession

from penstock.spark.lake.frame import read_files, write_files
from penstock.spark.lake.lake import REMOVED_STAY_S, Lake, files_by_partition

SMALL_BYTES: Final = 64 << 20
"""Half of what Spark reads in one task by default: two small files are one task's work."""

MIN_SMALL_FILES: Final = 2
"""A single small file cannot be merged."""


class Compacted(msgspec.Struct, frozen=True):
    """The result of a compaction."""

    folders: int
    files_before: int
    files_after: int
    rows: int
    unused_removed: int
    """Unused files that were old enough to delete."""


def compact(
    spark: SparkSession, lake: Lake, *, removed_stay_s: float = REMOVED_STAY_S
) -> Compacted:
    """Compact every folder that needs it; raises ``CommitConflict`` if another process did."""
    small = [file for file in lake.snapshot().files.values() if file.size_bytes < SMALL_BYTES]
    folders = {
        place: files
        for place, files in files_by_partition(small).items()
        if len(files) >= MIN_SMALL_FILES
    }
    before = [file for files in folders.values() for file in files]
    after = []
    if before:
        rows = read_files(spark, lake, before)
        tidy = rows.repartition(len(folders), "run", "day").sortWithinPartitions(
            "run", "day", "metric", "node", "subject", "at_ns"
        )
        after = write_files(tidy, lake)
        lake.commit("compacted", after, removed=[file.path for file in before])
    removed = lake.remove_unused(older_than_s=removed_stay_s)
    count = sum(file.rows for file in after)
    return Compacted(len(folders), len(before), len(after), count, removed)

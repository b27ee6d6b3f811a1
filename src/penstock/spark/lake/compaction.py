"""Compaction: many small files of a run's day become few.

1. A folder is compacted when it holds at least ``MIN_SMALL_FILES`` files below ``SMALL_BYTES``.
2. Their rows are written anew, sorted by metric, node, subject and time, so that a report that
   wants one metric reads a part of the file.
3. One commit takes the small files away and adds the new ones.  A reader has a snapshot from before
   or from after, never both; the small files stay on the disk until nobody can be reading them.
4. If another commit took one of the files away meanwhile, nothing happens and the new files are
   removed like all that no commit names.
"""

from __future__ import annotations

from typing import Final

import msgspec
from pyspark.sql import SparkSession

from penstock.spark.lake.frame import read_files, write_files
from penstock.spark.lake.lake import REMOVED_STAY_S, Lake, files_by_partition

SMALL_BYTES: Final = 64 << 20
"""Half of what Spark reads as one task by default: two small files are one task's work."""

MIN_SMALL_FILES: Final = 2
"""One small file cannot become fewer."""


class Compacted(msgspec.Struct, frozen=True):
    """What a compaction did."""

    folders: int
    files_before: int
    files_after: int
    rows: int
    unused_removed: int
    """Files that were out of use for long enough and are deleted."""


def compact(
    spark: SparkSession, lake: Lake, *, removed_stay_s: float = REMOVED_STAY_S
) -> Compacted:
    """Compact every folder that needs it; raises ``CommitConflict`` if somebody else did."""
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

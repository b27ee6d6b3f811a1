"""Compaction: merges the many small files of a run's day into few, without Spark.

One commit removes the small files and adds the new ones.  A reader has a snapshot from before or
from after, never both; the small files stay on the disk until no reader can be using them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.spark.tables.table import REMOVED_STAY_S, OpenTable

SMALL_BYTES: Final = 64 << 20
"""Half of what Spark reads in one task by default: two small files are one task's work."""


class Compacted(msgspec.Struct, frozen=True):
    """The result of a compaction."""

    folders: int
    files_before: int
    files_after: int
    unused_removed: int
    """Unused files that were old enough to delete."""


def compact(table: OpenTable, *, removed_stay_s: float = REMOVED_STAY_S) -> Compacted:
    """Compact every folder that needs it; raises ``CommitConflict`` if another process did."""
    done = table.merge_small_files(SMALL_BYTES)
    removed = table.remove_unused(older_than_s=removed_stay_s)
    return Compacted(
        done["partitionsOptimized"], done["numFilesRemoved"], done["numFilesAdded"], removed
    )

"""Writes the telemetry of one run to a lake, record by record, without Spark.

Records are written to staged files as they arrive, in the memory of one row group for each day of
the run; they become visible when the run ends and ``commit`` is called.  A run that is landed again
replaces its previous rows in the same commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.core.clock import SECOND, Instant
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import TelemetryFile
from penstock.spark.lake.lake import DAY, RUN, replacing
from penstock.spark.tables.data_file import partition_path
from penstock.spark.tables.table import OpenTable, Snapshot


class RunLanding:
    """The files of one run; leaving the block without ``commit`` discards them."""

    def __init__(self, lake: OpenTable, run: str) -> None:
        self._lake = lake
        self._run = run
        self._stack = ExitStack()
        self._files: dict[str, TelemetryFile] = {}
        self._staged: Path

    def __enter__(self) -> Self:
        """Create a staging directory."""
        self._staged = self._stack.enter_context(self._lake.staging())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove what was not committed."""
        self._close_files()
        self._stack.close()

    def add(self, record: TraceRecord) -> None:
        """Write a record to the file of its day."""
        day = day_of(record.at)
        file = self._files.get(day)
        if file is None:
            path = self._staged / partition_path({RUN: self._run, DAY: day}) / "rows.parquet"
            file = self._files[day] = TelemetryFile(path, self._run, {})
        file.add(record)

    def close(self) -> None:
        """No-op: the run's own records may follow those of the brokers."""

    def commit(self, records: Iterable[TraceRecord] = ()) -> Snapshot:
        """Make all records visible, together with these last ones."""
        for record in records:
            self.add(record)
        self._close_files()
        added = self._lake.adopt(self._staged)
        snapshot = self._lake.commit(f"ran {self._run}", added, removing=replacing([self._run]))
        assert snapshot is not None, "only a micro-batch can be in the lake already"
        return snapshot

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()


def day_of(at: Instant) -> str:
    """The UTC day of an instant."""
    return datetime.fromtimestamp(at // SECOND, UTC).date().isoformat()

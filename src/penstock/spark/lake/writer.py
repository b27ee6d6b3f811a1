"""Landing the telemetry of one run in a lake, record by record, without Spark.

A run's records are written to staged files as they come, in the memory of one row group for each
day that the run touches; they count when the run is over and ``commit`` is called.  A run that is
landed again replaces what the lake holds of it, in the same commit.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from penstock.core.clock import SECOND, Instant
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import TelemetryFile
from penstock.spark.lake.lake import Lake, Snapshot


class RunLanding:
    """The files of one run; leaving the block without ``commit`` lands nothing."""

    def __init__(self, lake: Lake, run: str) -> None:
        """``run`` names the run in the lake."""
        self._lake = lake
        self._run = run
        self._stack = ExitStack()
        self._files: dict[str, TelemetryFile] = {}
        self._staged: Path

    def __enter__(self) -> Self:
        """Take a staging directory."""
        self._staged = self._stack.enter_context(self._lake.staging())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove whatever was not committed."""
        self._close_files()
        self._stack.close()

    def add(self, record: TraceRecord) -> None:
        """Write a record to the file of its day."""
        day = day_of(record.at)
        file = self._files.get(day)
        if file is None:
            path = self._staged / partition_path(self._run, day) / "rows.parquet"
            file = self._files[day] = TelemetryFile(path, self._run, {})
        file.add(record)

    def close(self) -> None:
        """The brokers are silent; what the run says of itself may follow."""

    def commit(self, records: Iterable[TraceRecord] = ()) -> Snapshot:
        """Make everything count, with these last records."""
        for record in records:
            self.add(record)
        self._close_files()
        added = self._lake.adopt(self._staged)
        snapshot = self._lake.commit(f"ran {self._run}", added, replacing=[self._run])
        assert snapshot is not None, "only a micro-batch can be in the lake already"
        return snapshot

    def _close_files(self) -> None:
        for file in self._files.values():
            file.close()
        self._files.clear()


def day_of(at: Instant) -> str:
    """The day, in UTC, to which an instant belongs."""
    return datetime.fromtimestamp(at // SECOND, UTC).date().isoformat()


def partition_path(run: str, day: str) -> Path:
    """The folder of a run's day; Spark reads such names back."""
    return Path(f"run={quote(run, safe='')}") / f"day={quote(day, safe='')}"

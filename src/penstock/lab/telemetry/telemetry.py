"""Telemetry of a run: kept for measurements, and written as Parquet.

Both worlds use one flat schema (docs/reference/telemetry.md).  Records are written in row groups of
bounded size as they arrive, so a run of any length needs memory for one row group; the records kept
in memory for the run's own expectations are bounded by ``MAX_KEPT_RECORDS``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.trace import TraceRecord

SCHEMA: Final = pa.schema(
    [
        pa.field("run", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("at_ns", pa.int64(), nullable=False),
        pa.field("node", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("subject", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("metric", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("detail", pa.string(), nullable=False),
    ]
)

ROW_GROUP_RECORDS: Final = 65_536
"""A few megabytes: large enough to compress well, small enough to buffer."""

WRITE_AT_LEAST_EVERY: Final[Duration] = 60 * SECOND
"""How much telemetry a broker may lose when it is killed."""

MAX_KEPT_RECORDS: Final = 5_000_000
"""About a gigabyte of records: hours of a large simulation.  Later ones go to the sinks only."""


class RecordSink(Protocol):
    """A receiver of a run's records."""

    def add(self, record: TraceRecord) -> None:
        """One more."""
        ...

    def close(self) -> None:
        """All records have been added."""
        ...


class TelemetryFile:
    """A Parquet file that is written record by record."""

    def __init__(self, path: Path, run: str, facts: dict[str, str]) -> None:
        """``run`` names the run in every row; ``facts`` are kept as the file's own metadata."""
        self.path = path
        self._run = run
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(path, SCHEMA.with_metadata(facts), compression="zstd")
        self._records: list[TraceRecord] = []

    def add(self, record: TraceRecord) -> None:
        """Buffer a record; full row groups are written."""
        self._records.append(record)
        if len(self._records) >= ROW_GROUP_RECORDS:
            self._flush()

    def _flush(self) -> None:
        if self._records:
            self._writer.write_table(_table(self._run, self._records))
            self._records = []

    def close(self) -> None:
        """Write the remaining records and the file's footer."""
        self._flush()
        self._writer.close()

    def __enter__(self) -> TelemetryFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file, also after an error, so that the records stay readable."""
        self.close()


class TelemetryDirectory:
    """A directory that gets a complete file for each row group.

    A broker may run for months and be killed at any time: a file is readable as soon as it exists,
    and only the records buffered since the last file are lost.
    """

    def __init__(self, directory: Path, run: str) -> None:
        """Files are named after the run and the instant of their first record."""
        self._directory = directory
        self._run = run
        self._records: list[TraceRecord] = []
        directory.mkdir(parents=True, exist_ok=True)

    def add_all(self, records: list[TraceRecord]) -> None:
        """Buffer records; write them when there are enough or the oldest is too old."""
        self._records += records
        waited_ns = self._records[-1].at - self._records[0].at if self._records else 0
        if len(self._records) >= ROW_GROUP_RECORDS or waited_ns >= WRITE_AT_LEAST_EVERY:
            self.flush()

    def flush(self) -> None:
        """Write the buffered records under a name that appears when the file is complete."""
        if not self._records:
            return
        path = self._directory / f"{self._run}-{self._records[0].at}.parquet"
        unfinished = path.with_suffix(".writing")
        pq.write_table(_table(self._run, self._records), unfinished, compression="zstd")
        unfinished.rename(path)
        self._records = []

    def __enter__(self) -> TelemetryDirectory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Flush, also after an error."""
        self.flush()


def record_columns(records: Sequence[TraceRecord]) -> dict[str, Any]:
    """Records as Arrow arrays, by the names of the schema; without the run."""
    return {
        "at_ns": pa.array([record.at for record in records], pa.int64()),
        "node": pa.array([record.node for record in records], pa.string()),
        "subject": pa.array([record.subject for record in records], pa.string()),
        "metric": pa.array([record.metric for record in records], pa.string()),
        "value": pa.array([record.value for record in records], pa.float64()),
        "detail": pa.array([record.detail for record in records], pa.string()),
    }


def _table(run: str, records: list[TraceRecord]) -> pa.Table:
    columns = {"run": pa.array([run] * len(records), pa.string()), **record_columns(records)}
    arrays = [
        columns[field.name].dictionary_encode()
        if pa.types.is_dictionary(field.type)
        else columns[field.name]
        for field in SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


Point = tuple[Instant, float]


class Telemetry:
    """The records of one run, for measurements."""

    def __init__(self, *sinks: RecordSink) -> None:
        """The sinks get every record too."""
        self.records: list[TraceRecord] = []
        self.dropped = 0
        self._sinks = sinks
        self._by_metric: dict[str, list[TraceRecord]] = {}

    def add(self, record: TraceRecord) -> None:
        """Keep a record, up to ``MAX_KEPT_RECORDS``."""
        for sink in self._sinks:
            sink.add(record)
        if len(self.records) < MAX_KEPT_RECORDS:
            self.records.append(record)
            self._by_metric.setdefault(record.metric, []).append(record)
        else:
            self.dropped += 1

    def extend(self, records: Iterable[TraceRecord]) -> None:
        """Keep several."""
        for record in records:
            self.add(record)

    def close(self) -> None:
        """No more records will be added."""
        for sink in self._sinks:
            sink.close()

    def series(
        self, metric: str, *, subject: str = "", node: str = ""
    ) -> dict[tuple[str, str], list[Point]]:
        """The values of a metric over time, by node and subject; "" matches all."""
        found: dict[tuple[str, str], list[Point]] = {}
        for record in self._by_metric.get(metric, ()):
            if (subject and record.subject != subject) or (node and record.node != node):
                continue
            point = (record.at, record.value)
            found.setdefault((record.node, record.subject), []).append(point)
        return found

    def metrics(self) -> list[str]:
        """The recorded metrics."""
        return sorted(self._by_metric)

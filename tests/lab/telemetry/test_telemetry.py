from pathlib import Path

import pyarrow.parquet as pq

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.telemetry.telemetry import SCHEMA, Telemetry, TelemetryDirectory, TelemetryFile


def record(at: int, value: float = 1.0, subject: str = "x") -> TraceRecord:
    return TraceRecord(at, "b", subject, "m", value, "why")


def test_a_run_is_written_as_parquet(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "telemetry.parquet"
    telemetry = Telemetry(TelemetryFile(path, "run-1", {"seed": "7"}))
    telemetry.extend([record(1), record(2, 2.5)])
    telemetry.close()
    table = pq.read_table(path)
    assert table.schema.equals(SCHEMA)
    assert table.to_pylist()[1] == {
        "run": "run-1",
        "at_ns": 2,
        "node": "b",
        "subject": "x",
        "metric": "m",
        "value": 2.5,
        "detail": "why",
    }
    assert pq.read_schema(path).metadata[b"seed"] == b"7"


def test_series_are_separate_and_can_be_filtered() -> None:
    telemetry = Telemetry()
    telemetry.extend([record(1), record(2, subject="y"), record(3, 4.0)])
    assert telemetry.series("m") == {("b", "x"): [(1, 1.0), (3, 4.0)], ("b", "y"): [(2, 1.0)]}
    assert telemetry.series("m", subject="y") == {("b", "y"): [(2, 1.0)]}
    assert telemetry.series("m", node="c") == {}
    assert telemetry.metrics() == ["m"]


def test_a_broker_writes_complete_files_as_time_passes(tmp_path: Path) -> None:
    with TelemetryDirectory(tmp_path, "b") as directory:
        directory.add_all([record(1)])
        assert not list(tmp_path.iterdir())
        directory.add_all([record(61 * SECOND)])
        assert [path.name for path in tmp_path.iterdir()] == ["b-1.parquet"]
        directory.add_all([record(62 * SECOND)])
    files = sorted(tmp_path.iterdir())
    assert sum(pq.read_table(path).num_rows for path in files) == 3

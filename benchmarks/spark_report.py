"""How long ``penstock report`` takes for a large run.

    python -m benchmarks.spark_report [--brokers 50] [--seconds 3600]

Writes a lake as that many brokers would, measured once a second: 38 rows each (four links, two
pubends, ten subscriptions), and lands it in files of a minute, as the landing job leaves them after
compaction.  Then reports on it, and prints the seconds of each part.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.core.clock import SECOND
from penstock.spark.lake.lake import create_lake
from penstock.spark.report.build import build_report, matching_runs
from penstock.spark.session import build_session
from penstock.spark.tables.data_file import partition_path
from penstock.spark.tables.table import OpenTable

RUN: Final = "large"
DAY: Final = "2023-11-14"
BEGIN: Final = 1_699_920_000
"""Midnight of that day, in seconds."""

PART_S: Final = 300
"""Seconds of all brokers in one file."""

LINK: Final = ("queue_bytes", "sent_bytes", "sent_messages", "dropped_messages")
PUBEND: Final = ("published_messages", "log_bytes", "doubt_horizon_lag_s", "allowed_msgs_per_s")
COUNTERS: Final = frozenset(
    ("sent_bytes", "sent_messages", "dropped_messages", "published_messages", "delivered_messages")
)


def series(brokers: int) -> Iterator[tuple[str, str, str]]:
    """Node, subject and metric of everything that is measured."""
    for number in range(brokers):
        node = f"b{number:03}"
        for other in range(1, 5):
            link = f"{node}->b{(number + other) % brokers:03}"
            yield from ((node, link, metric) for metric in (*LINK, "bandwidth_bytes_per_s"))
        for pubend in range(2):
            yield from ((node, f"{node}.{pubend}", metric) for metric in PUBEND)
        for reader in range(10):
            yield node, f"{node}/s{reader}", "delivered_messages"


def write_part(path: Path, brokers: int, first_s: int, seconds: int) -> int:
    """Write some seconds of all brokers; returns the number of rows."""
    names = list(series(brokers))
    random = np.random.default_rng(first_s)
    columns: dict[str, list[pa.Array]] = {}
    for at_s in range(first_s, first_s + seconds):
        counters = np.array([metric in COUNTERS for *_, metric in names])
        noise = random.random(len(names))
        values = np.where(counters, at_s * 100.0, noise * 1e4)
        for name, array in {
            "at_ns": pa.repeat(pa.scalar((BEGIN + at_s) * SECOND), len(names)),
            "node": pa.array([node for node, *_ in names]),
            "subject": pa.array([subject for _, subject, _ in names]),
            "metric": pa.array([metric for *_, metric in names]),
            "value": pa.array(values),
            "detail": pa.repeat(pa.scalar(""), len(names)),
        }.items():
            columns.setdefault(name, []).append(array)
    table = pa.table({name: pa.chunked_array(arrays) for name, arrays in columns.items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="zstd")
    return len(table)


def build_lake(directory: Path, brokers: int, seconds: int) -> OpenTable:
    """The lake of the run."""
    lake = create_lake(directory / "lake")
    for first_s in range(0, seconds, PART_S):
        with lake.staging() as staged:
            folder = staged / partition_path({"run": RUN, "day": DAY})
            write_part(folder / "rows.parquet", brokers, first_s, min(PART_S, seconds - first_s))
            lake.commit("written", lake.adopt(staged))
    return lake


def main() -> None:
    """Build, report, print."""
    parser = argparse.ArgumentParser(description="Times a report on a large run.")
    parser.add_argument("--brokers", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=3600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        lake = build_lake(Path(directory), options.brokers, options.seconds)
        snapshot = lake.snapshot()
        print(f"{snapshot.rows:,} rows in {len(snapshot.files)} files", flush=True)
        began = time.monotonic()
        spark = build_session("report benchmark")
        started = time.monotonic()
        report = build_report(spark, lake, snapshot, matching_runs(lake, snapshot, [RUN]))
        ended = time.monotonic()
        print(f"session {started - began:.1f} s, report {ended - started:.1f} s")
        print(f"{len(report.links)} links, {len(report.rates)} rates, {len(report.series)} points")
        spark.stop()


if __name__ == "__main__":
    main()

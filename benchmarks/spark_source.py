"""The Spark source against Spark's Parquet and Kafka sources, on the same rows, in one run.

    python -m benchmarks.spark_source [--rows 5000000] [--repeat 5] [--no-kafka]

Rows of 100 bytes are published to one broker, read once by Spark into Parquet files with Spark's
defaults, and then read to Spark's ``noop`` sink from both in turn.  Both read the same columns:
tick, time and payload.  The relevant figures are the ratios of the medians, in seconds and in
processor seconds.  The brokers, ours and Kafka's, share the cores with the job here, and their
processor time counts as the job's.  Kafka comes from Maven Central (benchmarks/spark_kafka.py); if
it is not available, it is left out.  A last source has its rows in memory
(benchmarks/spark_memory.py): it is the lower bound for a source in Python.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness.usage import cpu_s
from benchmarks.spark_kafka import NoKafka, kafka, kafka_frame, session_settings
from benchmarks.spark_memory import memory_frame
from penstock.client.blocking import client as blocking
from penstock.content.rows.batch import Batch
from penstock.core.randomness import random_stream
from penstock.net.process import BrokerProcess, free_port
from penstock.spark.session import build_session

PAYLOAD_BYTES: Final = 100
BATCH_ROWS: Final = 5000
COLUMNS: Final = "tick bigint, time timestamp, payload binary"
WARM_UP: Final = 2
"""Uncounted reads of each source at first: the JVM compiles the code in use."""


class Measured(msgspec.Struct, frozen=True):
    """One complete read."""

    wall_s: float
    cpu_s: float


def batches(rows: int) -> Iterator[Batch]:
    """Rows that are all different: Parquet stores repeated values only once."""
    random = random_stream(1, "benchmark", "payloads")
    offsets = np.arange(BATCH_ROWS + 1, dtype=np.int32) * PAYLOAD_BYTES
    for _ in range(rows // BATCH_ROWS):
        data = random.randbytes(BATCH_ROWS * PAYLOAD_BYTES)
        yield Batch(BATCH_ROWS, columns=(), payloads=(offsets, data))


def publish(url: str, rows: int) -> None:
    """Publish the rows, and wait until all are durable."""
    with blocking.connect(url) as client:
        publisher = client.publisher("benchmark", pubend="p")
        for batch in batches(rows):
            publisher.publish_batch(batch)
        publisher.close()


@contextmanager
def broker(directory: Path) -> Iterator[str]:
    """A broker that retains everything; yields its address."""
    config = directory / "broker.toml"
    address = f"127.0.0.1:{free_port()}"
    config.write_text(
        f'name = "a"\nlisten = "{address}"\ndata_dir = "{directory / "data"}"\n'
        'pubends = ["p"]\n[guaranteed]\nretain_bytes = 10000000000\n'
    )
    with BrokerProcess(config, directory / "broker.log"):
        yield f"penstock://{address}"


def to_noop(frame: DataFrame) -> None:
    """Read everything and discard it."""
    frame.write.format("noop").mode("overwrite").save()


def measure(frame: DataFrame) -> Measured:
    """Read once; the processor time is that of this process and all its descendants."""
    cpu, began = cpu_s(os.getpid()), time.perf_counter()
    to_noop(frame)
    return Measured(time.perf_counter() - began, cpu_s(os.getpid()) - cpu)


def by_turns(frames: Mapping[str, DataFrame], repeat: int) -> dict[str, list[Measured]]:
    """Read each source ``repeat`` times, in turn, so that all see the same machine load."""
    for frame in frames.values():
        for _ in range(WARM_UP):
            to_noop(frame)
    measured: dict[str, list[Measured]] = {name: [] for name in frames}
    for _ in range(repeat):
        for name, frame in frames.items():
            measured[name].append(measure(frame))
    return measured


def penstock_frame(spark: SparkSession, url: str) -> DataFrame:
    """The source under test."""
    return spark.read.schema(COLUMNS).format("penstock").option("url", url).load()


def parquet_frame(spark: SparkSession, rows: DataFrame, directory: Path) -> DataFrame:
    """The same rows in Parquet files; raises if their number differs."""
    files = str(directory / "rows.parquet")
    rows.write.parquet(files)
    written = spark.read.parquet(files)
    if written.count() != rows.count():
        raise RuntimeError("the Parquet files do not hold all published rows")
    return written


def show(measured: Mapping[str, Sequence[Measured]], rows: int) -> None:
    """A line for each source, with the ratio of our time to its time."""
    ours = measured["penstock"]
    for name, each in measured.items():
        wall_s = statistics.median(one.wall_s for one in each)
        spent_s = statistics.median(one.cpu_s for one in each)
        wall_ratio = statistics.median(one.wall_s for one in ours) / wall_s
        cpu_ratio = statistics.median(one.cpu_s for one in ours) / spent_s
        print(
            f"{name:<9} {wall_s:6.2f} s  cpu {spent_s:6.2f} s  {rows / wall_s:12,.0f} rows/s  "
            f"penstock takes {wall_ratio:.2f} of its time, {cpu_ratio:.2f} of its cpu"
        )


def main() -> None:
    """Publish, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--no-kafka", action="store_true", help="without Kafka")
    arguments = parser.parse_args()
    settings = {"spark.driver.memory": "2g"}
    with_kafka = not arguments.no_kafka
    if with_kafka:
        try:
            settings |= session_settings()
        except NoKafka as reason:
            with_kafka = False
            print(f"without Kafka: {reason}", flush=True)
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(broker(directory))
        publish(url, arguments.rows)
        spark = build_session("source benchmark", "local[2]", **settings)
        stack.callback(spark.stop)
        rows = penstock_frame(spark, url)
        frames = {"penstock": rows, "parquet": parquet_frame(spark, rows, directory)}
        if with_kafka:
            address = stack.enter_context(kafka(directory / "kafka"))
            frames["kafka"] = kafka_frame(spark, rows, address)
        frames["memory"] = memory_frame(spark, COLUMNS, arguments.rows, PAYLOAD_BYTES)
        measured = by_turns(frames, arguments.repeat)
    show(measured, arguments.rows)


if __name__ == "__main__":
    main()

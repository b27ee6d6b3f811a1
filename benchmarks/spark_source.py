"""The Spark source against Spark's own Parquet source, on the same rows, in one run.

    python benchmarks/spark_source.py [--rows 5000000] [--repeat 3]

Rows of 100 bytes are published to one broker, read once by Spark into Parquet files, and then read
to Spark's ``noop`` sink from both, by turns; the figure that counts is the ratio of the best times.
Both read the same columns: place, time and payload.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.client import blocking
from penstock.content.batch import Batch
from penstock.core.randomness import random_stream
from penstock.net.process import BrokerProcess, free_port
from penstock.spark.session import build_session

PAYLOAD_BYTES = 100
BATCH_ROWS = 5000
COLUMNS = "tick bigint, time timestamp, payload binary"


def publish(url: str, rows: int) -> float:
    """Publish the rows; returns how many in a second."""
    # Random, or Parquet would store a few distinct values and hardly read anything.
    random = random_stream(1, "benchmark", "payloads")
    batch = Batch.from_rows([({}, random.randbytes(PAYLOAD_BYTES)) for _ in range(BATCH_ROWS)])
    began = time.perf_counter()
    with blocking.connect(url) as client:
        publisher = client.publisher("benchmark", pubend="p")
        for _ in range(rows // BATCH_ROWS):
            publisher.publish_batch(batch)
        publisher.close()
    return rows / (time.perf_counter() - began)


def seconds_of(action: Callable[[], None]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def to_noop(frame: DataFrame) -> None:
    """Read everything and keep nothing."""
    frame.write.format("noop").mode("overwrite").save()


def compare(spark: SparkSession, url: str, directory: Path, repeat: int) -> dict[str, list[float]]:
    """Times of each source, taken by turns."""
    penstock = spark.read.schema(COLUMNS).format("penstock").option("url", url).load()
    files = str(directory / "rows.parquet")
    penstock.write.parquet(files)
    parquet = spark.read.parquet(files)
    assert penstock.count() == parquet.count()
    times: dict[str, list[float]] = {"penstock": [], "parquet": []}
    for _ in range(repeat):
        times["penstock"].append(seconds_of(lambda: to_noop(penstock)))
        times["parquet"].append(seconds_of(lambda: to_noop(parquet)))
    return times


def main() -> None:
    """Publish, read, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        config = directory / "broker.toml"
        address = f"127.0.0.1:{free_port()}"
        config.write_text(
            f'name = "a"\nlisten = "{address}"\ndata_dir = "{directory / "data"}"\n'
            'pubends = ["p"]\n[guaranteed]\nretain_bytes = 10000000000\n'
        )
        with BrokerProcess(config, directory / "broker.log"):
            url = f"penstock://{address}"
            print(f"published {publish(url, arguments.rows):,.0f} rows/s")
            spark = build_session("source benchmark", "local[2]", **{"spark.driver.memory": "2g"})
            times = compare(spark, url, directory, arguments.repeat)
            spark.stop()
    for source, measured in times.items():
        best, median = min(measured), statistics.median(measured)
        rate = arguments.rows / best
        print(f"{source:<9} best {best:6.2f} s  median {median:6.2f} s  {rate:12,.0f} rows/s")
    print(f"ratio of the best times: {min(times['penstock']) / min(times['parquet']):.2f}")


if __name__ == "__main__":
    main()

"""Events in, windows out: several producers, Spark, and a subscriber, each message exactly once.

    penstock serve BROKER.toml                      # with pubends = ["events", "windows"]
    export PENSTOCK_URL=penstock://127.0.0.1:7400
    python examples/spark_windows.py publish        # several producers publish trades
    python examples/spark_windows.py job CHECKPOINT # Spark sums them up, window by window
    python examples/spark_windows.py watch          # a subscriber sees the windows as they close
    python examples/spark_windows.py check          # the same sums over everything, as a batch

The job may be killed at any moment and restarted with the same checkpoint, and the broker too: the
subscriber gets exactly what ``check`` computes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

import penstock
from penstock.spark.session import build_session

PRODUCERS = 3
ROUNDS = 30
EVENTS_IN_A_ROUND = 50
ROUND_MS = 1000
"""Event time of a round; producers are never more than a round apart."""
SYMBOLS = ("ACME", "HOOLI", "INITECH", "UMBRELLA")

WINDOW = "5 seconds"
LATENESS = "10 seconds"
"""Ten rounds: no event is that late."""

LAST_MS = ROUNDS * ROUND_MS
FAREWELL_MS = LAST_MS + 3_600_000
"""An event this late closes every window before it."""


def publish() -> int:
    """Several producers publish trades, round by round, and a final event each."""
    with penstock.blocking.connect() as client:
        producers = [
            client.publisher(f"trader-{number}", pubend="events", first_sequence=0)
            for number in range(PRODUCERS)
        ]
        for round_number in range(ROUNDS):
            for number, producer in enumerate(producers):
                producer.publish_batch(list(_trades(number, round_number)))
        for producer in producers:
            farewell = {"symbol": "farewell", "at": FAREWELL_MS, "quantity": 0}
            producer.publish_batch([(farewell, b"")])
            producer.close()
    return PRODUCERS * ROUNDS * EVENTS_IN_A_ROUND


def _trades(producer: int, round_number: int) -> Iterator[tuple[dict[str, str | int], bytes]]:
    for number in range(EVENTS_IN_A_ROUND):
        at = round_number * ROUND_MS + number * ROUND_MS // EVENTS_IN_A_ROUND
        symbol = SYMBOLS[(number + producer) % len(SYMBOLS)]
        yield {"symbol": symbol, "at": at, "quantity": 1 + (number * 7 + producer) % 11}, b""


def sums(events: DataFrame) -> DataFrame:
    """The traded quantity of each symbol in each window."""
    timed = events.withColumn("moment", f.timestamp_millis("at"))
    if events.isStreaming:
        timed = timed.withWatermark("moment", LATENESS)
    windows = timed.groupBy(f.window("moment", WINDOW), "symbol").agg(
        f.sum("quantity").alias("quantity"), f.count("*").alias("trades")
    )
    return windows.select(
        "symbol", (f.unix_millis("window.start")).alias("from_ms"), "quantity", "trades"
    )


def start_job(spark: SparkSession, url: str, checkpoint: str, **trigger: object) -> StreamingQuery:
    """The streaming job: events in, closed windows out."""
    events = (
        spark.readStream.format("penstock")
        .option("url", url)
        .option("pubends", "events")
        .option("attributes", "symbol string, at bigint, quantity bigint")
        .option("startingOffsets", "earliest")
        .option("maxRowsPerTrigger", 1000)
        .option("cursor", "example windows")
        .load()
    )
    return (
        sums(events)
        .writeStream.format("penstock")
        .option("url", url)
        .option("pubend", "windows")
        .option("checkpointLocation", checkpoint)
        .outputMode("append")
        .trigger(**trigger)
        .start()
    )


def read_back(spark: SparkSession, url: str) -> tuple[list[tuple], list[tuple]]:
    """The windows that the job published, and those that a batch query over all events computes."""

    def read(pubend: str, attributes: str) -> DataFrame:
        reader = spark.read.format("penstock").option("url", url).option("pubends", pubend)
        return reader.option("attributes", attributes).load()

    columns = ("symbol", "from_ms", "quantity", "trades")
    windows = read("windows", "symbol string, from_ms bigint, quantity bigint, trades bigint")
    events = read("events", "symbol string, at bigint, quantity bigint")
    expected = sums(events).where(f.col("from_ms") < LAST_MS)
    published = [tuple(row) for row in windows.select(*columns).collect()]
    return sorted(published), sorted(tuple(row) for row in expected.select(*columns).collect())


def watch() -> None:
    """A subscriber that receives every window once, however often it is restarted."""
    with penstock.blocking.connect() as client:
        for message in client.subscribe("trades > 0", durable="watcher", start="earliest"):
            start_s = message["from_ms"] // 1000
            print(f"{start_s:>6} s  {message['symbol']:<9} {message['quantity']:>6}", flush=True)


def main(command: str, *arguments: str) -> None:
    """Run one part."""
    if command == "publish":
        print(f"published {publish()} trades")
    elif command == "watch":
        watch()
    elif command == "job":
        spark = build_session("windows")
        # The job ends when it has read all stored events; without the trigger it would continue.
        start_job(spark, "", arguments[0], availableNow=True).awaitTermination()
    elif command == "check":
        published, expected = read_back(build_session("check"), "")
        print(f"{len(published)} windows published, {len(expected)} expected")
        if published != expected:
            sys.exit("they differ")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:] or ["help"])

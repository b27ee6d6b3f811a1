"""The streaming source in a real Spark, reading from a real broker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader
from pyspark.sql.types import StructType

from penstock.client.blocking import client as blocking
from penstock.net.process import BrokerProcess
from penstock.services.guaranteed.messages import StreamBounds
from penstock.spark.schema import default_schema
from penstock.spark.source.offsets import DataLost, StreamAway
from penstock.spark.source.options import read_source_options
from penstock.spark.source.stream_reader import PenstockStreamReader

pytestmark = pytest.mark.xdist_group("spark")

ATTRIBUTES = "n bigint, symbol string"


class Collected:
    """The rows of each batch of a query."""

    def __init__(self) -> None:
        self.batches: dict[int, list[int]] = {}

    def take(self, batch: DataFrame, number: int) -> None:
        self.batches[number] = [row["n"] for row in batch.select("n").collect()]

    @property
    def numbers(self) -> list[int]:
        return [n for _, batch in sorted(self.batches.items()) for n in sorted(batch)]

    @property
    def sizes(self) -> list[int]:
        return [len(batch) for _, batch in sorted(self.batches.items())]


@pytest.fixture
def fresh(url: str, client: blocking.Client) -> dict[str, StreamBounds]:
    """The bounds of the streams before a test publishes."""
    return client.streams()


def publish(client: blocking.Client, pubend: str, numbers: range, batch_rows: int = 50) -> None:
    publisher = client.publisher(pubend=pubend)
    for first in range(numbers.start, numbers.stop, batch_rows):
        part = range(first, min(first + batch_rows, numbers.stop))
        publisher.publish_batch([({"n": n, "symbol": f"S{n % 3}"}, b"x") for n in part])
    publisher.close()


def stream(spark: SparkSession, url: str, **options: Any) -> DataStreamReader:
    reader = spark.readStream.format("penstock").option("url", url).option("attributes", ATTRIBUTES)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader


def run_to_the_end(source: DataStreamReader, checkpoint: str) -> Collected:
    """The stored rows that a query reads with Trigger.AvailableNow."""
    collected = Collected()
    query = (
        source.load("ignored")  # Spark hands a path to the source as an option.
        .writeStream.foreachBatch(collected.take)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return collected


def heads(streams: dict[str, StreamBounds]) -> str:
    return str({pubend: bounds.head for pubend, bounds in streams.items()}).replace("'", '"')


def test_a_query_continues_where_it_stopped_within_its_limits(
    spark: SparkSession,
    url: str,
    client: blocking.Client,
    fresh: dict[str, StreamBounds],
    checkpoint: str,
) -> None:
    source = stream(
        spark, url, startingOffsets=heads(fresh), maxRowsPerTrigger=120, selector="symbol <> 'S2'"
    )
    publish(client, "a.1", range(300))
    first = run_to_the_end(source, checkpoint)
    assert first.numbers == [n for n in range(300) if n % 3 != 2]
    assert all(size <= 120 for size in first.sizes)
    publish(client, "a.2", range(300, 330))
    second = run_to_the_end(source, checkpoint)
    assert second.numbers == [n for n in range(300, 330) if n % 3 != 2]


def test_a_checkpoint_of_another_stream_fails_at_the_start(
    spark: SparkSession,
    url: str,
    client: blocking.Client,
    checkpoint: str,
    start_broker: Callable[..., BrokerProcess],
) -> None:
    publish(client, "a.1", range(3))
    run_to_the_end(stream(spark, url, startingOffsets="earliest"), checkpoint)
    other = start_broker("b", 'pubends = ["a.1", "a.2"]')
    host, port = other.address
    with pytest.raises(
        StreamingQueryException, match=r"of broker 'a'; here the pubend\s+is\s+hosted by 'b'"
    ):
        run_to_the_end(stream(spark, f"penstock://{host}:{port}"), checkpoint)


def test_an_unreachable_broker_fails_the_query_at_the_start(
    spark: SparkSession, checkpoint: str
) -> None:
    source = stream(spark, "penstock://127.0.0.1:1", timeout="1s")
    with pytest.raises(
        StreamingQueryException, match=r"no broker could be reached: 127\.0\.0\.1:1"
    ):
        run_to_the_end(source, checkpoint)


# -- the reader itself, without the rest of Spark ---------------------------------------------


class Driver:
    """Calls the driver's copy of the reader as Spark does."""

    def __init__(self, url: str, **options: str) -> None:
        self.reader = PenstockStreamReader(
            read_source_options({"url": url, "attributes": ATTRIBUTES, **options}, streaming=True),
            default_schema(ATTRIBUTES),
        )

    def read(self, start: dict[str, Any], end: dict[str, Any]) -> list[int]:
        partitions = self.reader.partitions(start, end)
        batches = [batch for each in partitions for batch in self.reader.read(each)]
        return sorted(row["n"] for batch in batches for row in batch.to_pylist())

    def latest(self, start: dict[str, Any]) -> dict[str, Any]:
        return self.reader.latestOffset(start, self.reader.getDefaultReadLimit())


@pytest.fixture
def driver(url: str) -> Any:
    made: list[Driver] = []

    def make(**options: str) -> Driver:
        made.append(Driver(url, **options))
        return made[-1]

    yield make
    for each in made:
        each.reader.stop()


def test_a_repeated_first_batch_reads_the_same_rows(client: blocking.Client, driver: Any) -> None:
    first = driver(startingOffsets="latest")
    start = first.reader.initialOffset()
    publish(client, "a.1", range(10))
    assert first.reader.initialOffset() == start
    end = first.latest(start)
    assert first.read(start, end) == list(range(10))
    # The process has exited; Spark asks another for the initial offset, then repeats batch 0.
    publish(client, "a.1", range(10, 20))
    second = driver(startingOffsets="latest")
    assert second.read(second.reader.initialOffset(), end) == list(range(10))


def test_silence_makes_no_batch(client: blocking.Client, driver: Any) -> None:
    reader = driver(startingOffsets="latest")
    publish(client, "a.1", range(1))
    start = reader.latest(reader.reader.initialOffset())
    head = client.streams()["a.1"].head
    while client.streams()["a.1"].head == head:
        pass
    assert reader.latest(start) == start


def test_a_batch_waits_for_enough_rows_up_to_a_limit(client: blocking.Client, driver: Any) -> None:
    patient = driver(startingOffsets="latest", minRowsPerTrigger="10", maxTriggerDelay="1h")
    start = patient.reader.initialOffset()
    publish(client, "a.1", range(9))
    assert patient.latest(start) == start
    publish(client, "a.1", range(9, 10))
    assert patient.read(start, patient.latest(start)) == list(range(10))
    hasty = driver(startingOffsets="latest", minRowsPerTrigger="10", maxTriggerDelay="1ms")
    start = hasty.reader.initialOffset()
    publish(client, "a.1", range(1))
    while (end := hasty.latest(start)) == start:
        pass
    assert hasty.read(start, end) == [0]


def test_a_time_can_be_the_start(client: blocking.Client, driver: Any) -> None:
    publish(client, "a.1", range(3))
    milliseconds = client.streams()["a.1"].head // 1_000_000 + 1
    while client.streams()["a.1"].head // 1_000_000 <= milliseconds:
        publish(client, "a.1", range(99, 100))
    reader = driver(startingTimestamp=str(milliseconds), pubends="a.1")
    start = reader.reader.initialOffset()
    assert set(reader.read(start, reader.latest(start))) == {99}


def test_a_start_in_the_future_is_waited_for(client: blocking.Client, driver: Any) -> None:
    head = max(bounds.head for bounds in client.streams().values())
    soon = head // 1_000_000 + 1500
    later = soon + 3_600_000
    far = driver(startingTimestamp=str(later), cursor="far")
    unread = far.reader.initialOffset()
    assert set(unread["next"].values()) == {later * 1_000_000}
    near = driver(startingTimestamp=str(soon), pubends="a.1")
    start = near.reader.initialOffset()
    number = 0
    while client.streams()["a.1"].rows_end <= soon * 1_000_000:
        publish(client, "a.1", range(number, number + 1))
        number += 1
    end = near.latest(start)
    batches = [
        batch for each in near.reader.partitions(start, end) for batch in near.reader.read(each)
    ]
    ticks = [row["tick"] for batch in batches for row in batch.to_pylist()]
    assert ticks
    assert min(ticks) >= soon * 1_000_000
    assert far.latest(unread) == unread
    client.delete_cursor("far")


def test_available_now_fails_without_a_stream_of_its_checkpoint(
    client: blocking.Client, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = driver(startingOffsets="earliest")
    publish(client, "a.2", range(1))
    start = before.latest(before.reader.initialOffset())
    publish(client, "a.1", range(1))
    for strict, away_at_first in ((True, True), (True, False), (False, True)):
        again = driver(failOnDataLoss=str(strict).lower())
        streams = again.reader._streams
        everything = streams.bounds()
        without = {"a.1": everything["a.1"]}
        answers = [without, everything] if away_at_first else [everything, without]
        with monkeypatch.context() as patched:
            patched.setattr(streams, "bounds", iter(answers).__next__)
            again.reader.prepareForTriggerAvailableNow()
            if strict:
                with pytest.raises(StreamAway, match=r"pubend 'a\.2' of broker 'a'"):
                    again.latest(start)
            else:
                end = again.latest(start)
                assert end["next"]["a.1"] > start["next"]["a.1"]
                assert end["next"]["a.2"] == start["next"]["a.2"]


def test_the_cursor_follows_the_commits(client: blocking.Client, driver: Any) -> None:
    reader = driver(startingOffsets="latest", cursor="follows")
    start = reader.reader.initialOffset()
    publish(client, "a.1", range(3))
    end = reader.latest(start)
    reader.reader.commit(end)
    assert client.move_cursor("follows", {}) == end["next"]
    client.delete_cursor("follows")


def test_a_trimmed_log_is_loss_and_silence_is_not(
    start_broker: Callable[..., BrokerProcess], tmp_path: Path
) -> None:
    broker = start_broker(
        "trimming",
        'pubends = ["p"]\n[guaranteed]\nretain_bytes = 20000\n'
        "acknowledge_interval_ns = 50000000\nhold_expiry_ns = 100000000",
    )
    host, port = broker.address
    url = f"penstock://{host}:{port}"
    with blocking.connect(url) as client:
        first = client.streams()["p"].head
        publish(client, "p", range(2000))
        while client.streams()["p"].earliest <= first:
            publish(client, "p", range(2000, 2050))
        publish(client, "p", range(9999, 10000))  # The newest row is never trimmed.
        offset = f'{{"p": {first}}}'
        strict = Driver(url, startingOffsets=offset)
        with pytest.raises(DataLost, match="the log begins at"):
            strict.reader.initialOffset()
        strict.reader.stop()
        lenient = Driver(url, startingOffsets=offset, failOnDataLoss="false")
        start = lenient.reader.initialOffset()
        numbers = lenient.read(start, lenient.latest(start))
        assert 0 not in numbers
        assert 9999 in numbers
        # A batch that was planned before the log was trimmed.
        end = lenient.latest(start)
        with pytest.raises(DataLost, match="no longer stores the ticks"):
            Driver(url, startingOffsets="latest").read(start, end)
        lenient.reader.stop()


def test_a_task_gets_no_connection(url: str) -> None:
    import pickle

    reader = Driver(url, startingOffsets="earliest").reader
    reader.initialOffset()
    copy = pickle.loads(pickle.dumps(reader))
    assert isinstance(copy._schema, StructType)
    assert copy._options == reader._options
    reader.stop()

"""The sink in a real Spark, writing to a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.datasource import WriterCommitMessage

from penstock.client.blocking import client as blocking
from penstock.client.guaranteed.sink import SinkRefusedError
from penstock.spark.sink.options import SinkOptions
from penstock.spark.sink.writer import PenstockStreamWriter, Staged, commit_stages, drop_stages
from tests.spark.conftest import StartBroker, url_of

pytestmark = pytest.mark.xdist_group("spark")


def published(client: blocking.Client, start: int) -> list[dict[str, object]]:
    head = client.streams()["a.2"].head
    subscription = client.subscribe("", start={"a.2": start}, end={"a.2": head})
    return [
        {**message.attributes, "payload": message.payload}
        for message in subscription.messages(deadline_s=30)
    ]


def test_a_batch_is_written_completely_and_once_per_name(
    spark: SparkSession, url: str, client: blocking.Client
) -> None:
    start = client.streams()["a.2"].head
    rows = spark.range(0, 50, 1, 4).selectExpr(
        "id AS n",
        "CAST(id AS INT) AS small",
        "IF(id % 2 = 0, 'even', NULL) AS kind",
        "id > 40 AS large",
        "CAST(id AS STRING) AS payload",
    )
    for _ in range(2):
        writer = rows.write.format("penstock").option("url", url).option("pubend", "a.2")
        writer.option("sink", "daily").option("epoch", 7).mode("append").save("ignored")
    found = published(client, start)
    assert [row["n"] for row in found] == list(range(50))
    assert found[41] == {"n": 41, "small": 41, "large": True, "payload": b"41"}
    assert found[2]["kind"] == "even"


def test_attributes_that_are_written_back_keep_their_types_or_are_refused(
    spark: SparkSession, url: str, client: blocking.Client
) -> None:
    first = client.streams()["a.1"].head
    sent = {"n": 7, "price": 100.0, "open": True, "raw": b"\x00\xff", "symbol": "ACME"}
    with client.publisher(pubend="a.1") as publisher:
        publisher.publish_batch([(sent, b"p")])
    source = spark.read.format("penstock").option("url", url).option("pubends", "a.1")
    source = source.option("startingOffsets", f'{{"a.1": {first}}}')
    texts = source.load().select("payload", "attributes").write.format("penstock")
    texts = texts.option("url", url).option("pubend", "a.2").mode("append")
    start = client.streams()["a.2"].head
    with pytest.raises(PySparkException, match="is a map of texts"):
        texts.save()
    kinds = "n bigint, price double, open boolean, raw binary, symbol string"
    typed = source.option("attributes", kinds).load().drop("pubend", "tick", "time")
    typed.write.format("penstock").option("url", url).option("pubend", "a.2").mode("append").save()
    every = source.option("attributes", "*").load().select("payload", "attributes")
    every.write.format("penstock").option("url", url).option("pubend", "a.2").mode("append").save()
    texts.option("mapAsText", "true").save()
    kept, kept_in_map, as_text = published(client, start)
    assert kept == kept_in_map == {**sent, "payload": b"p"}
    for each in (kept, kept_in_map):
        assert {name: type(value) for name, value in each.items() if name != "payload"} == {
            name: type(value) for name, value in sent.items()
        }
    assert (as_text["price"], as_text["raw"]) == ("100.0", "00ff")


def test_rows_that_cannot_be_written_are_refused(spark: SparkSession, url: str) -> None:
    times = spark.sql("SELECT current_timestamp() AS at").write.format("penstock")
    with pytest.raises(PySparkException, match="column 'at' has type timestamp"):
        times.option("url", url).mode("append").save()
    rows = spark.range(1).write.format("penstock").option("url", url)
    with pytest.raises(PySparkException, match="a stream cannot be overwritten"):
        rows.mode("overwrite").save()
    with pytest.raises(PySparkException, match="hosts no pubend 'zzz'"):
        rows.option("pubend", "zzz").mode("append").save()


def test_a_named_stream_is_written_batch_by_batch(
    spark: SparkSession, url: str, client: blocking.Client, tmp_path: Path, checkpoint: str
) -> None:
    start = client.streams()["a.2"].head
    source = tmp_path / "source"
    for part in range(2):
        spark.range(part * 10, part * 10 + 10).coalesce(1).write.mode("append").parquet(str(source))
        query = (
            spark.readStream.schema("id bigint")
            .parquet(str(source))
            .writeStream.format("penstock")
            .option("url", url)
            .option("pubend", "a.2")
            .option("checkpointLocation", checkpoint)
            .queryName("numbers")  # Spark hands the name to the sink as an option.
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    assert [row["id"] for row in published(client, start)] == list(range(20))


# -- without the rest of Spark ----------------------------------------------------------------


def test_only_the_successful_attempt_is_published(url: str, client: blocking.Client) -> None:
    start = client.streams()["a.2"].head
    options = SinkOptions(url, "a.2")
    sink = client.sink("spark/q", pubend="a.2")
    for name in ("lost", "won"):
        sink.stage(0, name).write([({"name": name}, b"")])
    writer = PenstockStreamWriter(options)
    writer.commit([Staged("spark/q", 0, "won", 1), None], 0)
    writer.commit([Staged("spark/q", 0, "won", 1)], 0)
    assert [row["name"] for row in published(client, start)] == ["won"]


def test_a_batch_that_failed_leaves_nothing(url: str, client: blocking.Client) -> None:
    options = SinkOptions(url, "a.2")
    client.sink("spark/f", pubend="a.2").stage(0, "s").write([({"n": 1}, b"")])
    PenstockStreamWriter(options).abort([Staged("spark/f", 0, "s", 1), None], 0)
    with pytest.raises(Exception, match="was dropped or has expired"):
        commit_stages(options, [Staged("spark/f", 0, "s", 1)])


def staged_rows(url: str, epoch: int, name: str) -> list[WriterCommitMessage | None]:
    """Rows of one task, staged under a name of a query."""
    with blocking.connect(url) as client:
        stage = client.sink("spark/q2", pubend="a.2").stage(epoch, name)
        stage.write([({"epoch": epoch}, b"")])
    return [Staged("spark/q2", epoch, name, 1)]


def test_no_number_of_other_writes_makes_a_repeated_batch_new(
    url: str, client: blocking.Client
) -> None:
    start = client.streams()["a.2"].head
    writer = PenstockStreamWriter(SinkOptions(url, "a.2"))
    writer.commit(staged_rows(url, 0, "first"), 0)
    for number in range(1_500):
        client.sink(f"spark/write {number}", pubend="a.2", once=True).commit(0, {})
    again = client.sink("spark/q2", pubend="a.2").stage(0, "again")
    again.open()
    assert again.is_committed
    writer.commit([Staged("spark/q2", 0, "again", 0)], 0)
    assert [row["epoch"] for row in published(client, start)] == [0]


def test_a_batch_is_not_published_by_a_broker_that_does_not_know_the_one_before(
    url: str, client: blocking.Client, start_broker: StartBroker
) -> None:
    # Two overlays with pubends of the same name, as after a url was changed.
    other = url_of(start_broker("other", 'pubends = ["a.2"]'))
    start = client.streams()["a.2"].head
    here, there = (PenstockStreamWriter(SinkOptions(each, "a.2")) for each in (url, other))
    here.commit(staged_rows(url, 1, "first"), 0)
    here.commit(staged_rows(url, 2, "second"), 2)
    repeated = staged_rows(other, 2, "repeat")
    with pytest.raises(SinkRefusedError, match="this broker knows none: they were published by"):
        there.commit(repeated, 2)
    adopting = SinkOptions(other, "a.2", adopt_checkpoint=True)
    PenstockStreamWriter(adopting).commit(repeated, 2)
    there.commit(staged_rows(other, 3, "third"), 3)
    assert [row["epoch"] for row in published(client, start)] == [1, 2]
    with blocking.connect(other) as elsewhere:
        begin = elsewhere.streams()["a.2"].earliest
        assert [row["epoch"] for row in published(elsewhere, begin)] == [2, 3]


def test_an_empty_commit_needs_no_broker() -> None:
    nowhere = SinkOptions("penstock://127.0.0.1:1")
    commit_stages(nowhere, [])
    drop_stages(nowhere, [])

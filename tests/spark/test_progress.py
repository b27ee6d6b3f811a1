"""Lag and rates of queries, as Spark reports them and as Prometheus reads them."""

from __future__ import annotations

import time
import urllib.error
import urllib.request

import pytest
from pyspark.sql import SparkSession

from penstock.client.blocking import client as blocking
from penstock.spark.progress import (
    SourceProgress,
    prometheus_text,
    source_progress,
    watch_queries,
)
from tests.spark.conftest import PATIENCE_S

pytestmark = pytest.mark.xdist_group("spark")

SECOND = 1_000_000_000


def progress(**source: object) -> dict[str, object]:
    offsets = {
        "endOffset": {"next": {"p": 5 * SECOND, "q": 9 * SECOND}},
        "latestOffset": {"source": "p, q", "rows_end": {"p": 7 * SECOND, "q": 8 * SECOND}},
    }
    figures = {"numInputRows": 3, "inputRowsPerSecond": 1.5, "processedRowsPerSecond": 6.0}
    described = {"id": "i", "name": "totals", "batchId": 4, "batchDuration": 500}
    return {**described, "sources": [{**offsets, **figures, **source}]}


def test_a_stream_is_behind_by_the_time_up_to_its_last_message() -> None:
    (found,) = source_progress(progress())
    assert found.behind_s == {"p": 2.0, "q": 0.0}
    assert found.most_behind_s == 2.0
    assert (found.query, found.batch, found.rows, found.batch_s) == ("totals", 4, 3, 0.5)
    assert (found.input_rows_per_s, found.processed_rows_per_s) == (1.5, 6.0)


@pytest.mark.parametrize(
    "offset", [None, "null", "7", {"partition": 1}, '{"logOffset": 3}', {"rows_end": {}}]
)
def test_sources_of_others_are_left_out(offset: object) -> None:
    assert source_progress(progress(endOffset=offset, latestOffset=offset)) == []


def test_the_text_for_prometheus_escapes_what_people_write() -> None:
    said = SourceProgress('a "b"\n', "i", "p where x = 'c\\d'", 4, 3, 0.5, 1.5, 6.0, {"p": 2.0})
    text = prometheus_text([said])
    assert "# TYPE penstock_spark_behind_seconds gauge" in text
    assert (
        'penstock_spark_behind_seconds{query="a \\"b\\"\\n",query_id="i",'
        'source="p where x = \'c\\\\d\'",stream="p"} 2' in text.splitlines()
    )


def test_a_running_query_is_watched(
    spark: SparkSession, url: str, client: blocking.Client, checkpoint: str
) -> None:
    first = client.streams()["a.1"].head
    with client.publisher(pubend="a.1") as publisher:
        publisher.publish_batch([({"n": number}, b"") for number in range(30)])
    told: list[SourceProgress] = []
    watched = watch_queries(spark, port=0, on_progress=told.append)
    query = (
        spark.readStream.format("penstock")
        .option("url", url)
        .option("pubends", "a.1")
        .option("selector", "n >= 0")
        .option("startingOffsets", f'{{"a.1": {first}}}')
        .option("maxRowsPerTrigger", 10)
        .load()
        .writeStream.format("noop")
        .queryName("watched")
        .option("checkpointLocation", checkpoint)
        .start()
    )
    try:
        until = time.monotonic() + PATIENCE_S
        while sum(each.rows for each in told) < 30 and time.monotonic() < until:
            time.sleep(0.05)
        assert [each.rows for each in told if each.rows] == [10, 10, 10]
        assert told[0].most_behind_s > 0.0 == told[-1].most_behind_s
        assert {each.query for each in told} == {"watched"}
        assert told[0].source == f"a.1 where n >= 0 at {url}"
        host, port = watched.metrics_address or ("", 0)
        with urllib.request.urlopen(f"http://{host}:{port}/metrics") as answer:
            text = answer.read().decode()
        assert 'penstock_spark_behind_seconds{query="watched"' in text
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://{host}:{port}/other")
    finally:
        query.stop()
        query.awaitTermination()
    while watched.latest() and time.monotonic() < until:
        time.sleep(0.05)
    assert watched.latest() == []
    spark.streams.removeListener(watched)

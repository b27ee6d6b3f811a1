"""The batch source in a real Spark, reading from a real broker."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import EqualTo, LessThan

from penstock.client.blocking import client as blocking
from penstock.spark.schema import default_schema
from penstock.spark.source.batch_reader import PenstockBatchReader, PushdownBatchReader
from penstock.spark.source.options import read_source_options
from penstock.spark.source.partition import IntervalPartition

from ..conftest import StartBroker, url_of

pytestmark = pytest.mark.xdist_group("spark")

ATTRIBUTES = "n bigint, symbol string"


@pytest.fixture(scope="module", autouse=True)
def published(url: str) -> None:
    with blocking.connect(url) as client:
        for pubend, numbers in (("a.1", range(100)), ("a.2", range(100, 130))):
            rows = [({"n": n, "symbol": f"S{n % 3}"}, b"x" * (n % 5)) for n in numbers]
            client.publisher(pubend=pubend).publish_batch(rows)


def load(spark: SparkSession, url: str, **options: object) -> DataFrame:
    reader = spark.read.format("penstock").option("url", url)
    for name, value in options.items():
        reader = reader.option(name, value)
    return reader.load()


def reader_of(url: str, **options: str) -> PenstockBatchReader:
    read = read_source_options({"url": url, **options}, streaming=False)
    return PenstockBatchReader(read, default_schema(ATTRIBUTES))


def test_everything_is_read_without_registering_the_source(spark: SparkSession, url: str) -> None:
    rows = load(spark, url, attributes=ATTRIBUTES, paths="ignored")
    found = rows.groupBy("pubend").agg(f.count("*"), f.sum("n"), f.sum(f.length("payload")))
    assert sorted(map(tuple, found.collect())) == [
        ("a.1", 100, sum(range(100)), 200),
        ("a.2", 30, sum(range(100, 130)), 60),
    ]
    pushed = load(spark, url, attributes=ATTRIBUTES, pushdown="true")
    narrowed = pushed.where("n >= 10 AND n < 20 AND symbol = 'S1' AND pubend = 'a.1'")
    assert sorted(row["n"] for row in narrowed.collect()) == [10, 13, 16, 19]


def test_a_session_that_does_not_push_predicates_down_reads_the_same(
    spark: SparkSession, url: str
) -> None:
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        rows = load(spark, url, attributes=ATTRIBUTES).where("n < 5")
        assert sorted(row["n"] for row in rows.collect()) == [0, 1, 2, 3, 4]
        pushed = load(spark, url, attributes=ATTRIBUTES, pushdown="true").where("n < 5")
        with pytest.raises(PySparkException, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
            pushed.collect()
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_sql_reads_and_writes_through_views_and_refuses_tables_that_lose_options(
    spark: SparkSession, url: str, start_broker: StartBroker
) -> None:
    options = f"OPTIONS (url '{url}', selector 'n >= 120', attributes 'n bigint, symbol string')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW quotes USING penstock {options}")
    found = spark.sql("SELECT n FROM quotes WHERE symbol = 'S0' ORDER BY n").collect()
    assert [row["n"] for row in found] == [120, 123, 126, 129]
    other = url_of(start_broker("sql", 'pubends = ["out"]'))
    sink = f"OPTIONS (url '{other}', pubend 'out')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW out (seen BIGINT) USING penstock {sink}")
    spark.sql("INSERT INTO out SELECT n FROM quotes WHERE n < 122")
    written = load(spark, other, attributes="seen bigint")
    assert sorted(row["seen"] for row in written.collect()) == [120, 121]
    with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW"):
        spark.sql(f"CREATE TABLE lossy USING penstock {options}")
    assert not spark.catalog.tableExists("lossy")


def test_errors_are_raised_before_anything_is_read(spark: SparkSession, url: str) -> None:
    with pytest.raises(
        (AnalysisException, PySparkException), match="'n text' is not a column name"
    ):
        load(spark, url, attributes="n text")
    with pytest.raises(PySparkException, match="attribute 'n' has type"):
        load(spark, url, attributes="n string").collect()


def test_a_batch_of_nothing_has_no_rows_and_the_right_columns(
    spark: SparkSession, url: str, client: blocking.Client
) -> None:
    head = client.streams()["a.1"].head
    place = f'{{"a.1": {head}}}'
    same = load(spark, url, pubends="a.1", startingOffsets=place, endingOffsets=place)
    assert same.collect() == []
    assert same.columns == ["pubend", "tick", "time", "payload", "attributes"]
    future = load(spark, url, attributes=ATTRIBUTES, startingTimestamp="2100-01-01T00:00:00Z")
    assert future.count() == 0
    assert future.schema == default_schema(ATTRIBUTES)
    pushed = load(spark, url, attributes=ATTRIBUTES, pushdown="true")
    for excludes_all in (
        "pubend = 'none'",
        "tick < 5",
        "tick > 10 AND tick < 10",
        "n < 0",
        "time > '2100-01-01'",
    ):
        assert pushed.where(excludes_all).collect() == [], excludes_all


def test_a_task_without_rows_needs_no_broker() -> None:
    options = read_source_options({"url": "penstock://127.0.0.1:1"}, streaming=False)
    reader = PenstockBatchReader(options, default_schema(ATTRIBUTES))
    assert list(reader.read(IntervalPartition(()))) == []


def test_pushed_predicates_reduce_the_rows_sent(url: str) -> None:
    options = read_source_options({"url": url}, streaming=False)
    reader = PushdownBatchReader(options, default_schema(ATTRIBUTES))
    filters = [LessThan(("n",), 5), EqualTo(("pubend",), "a.1")]
    assert reader.pushFilters(filters) == filters
    pieces = [piece for each in reader.partitions() for piece in each.pieces]
    assert {piece.pubend for piece in pieces} == {"a.1"}
    rows = [
        row
        for each in reader.partitions()
        for batch in reader.read(each)
        for row in batch.to_pylist()
    ]
    assert sorted(row["n"] for row in rows) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pubends": "b.*"}, r"there is no pubend 'b.\*' \(here: a.1, a.2\)"),
        ({"startingOffsets": '{"a.1": 5}', "pubends": "a.1"}, "the log begins at"),
        ({"endingOffsets": '{"a.1": 9000000000000000000}', "pubends": "a.1"}, "is in the future"),
    ],
)
def test_invalid_start_and_end_positions_are_refused(
    url: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises((ValueError, RuntimeError), match=says):
        reader_of(url, **options).partitions()

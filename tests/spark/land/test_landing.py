"""Messages of a real broker in a Delta table, each once, whatever is repeated."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars
import pytest
from pyspark.sql import SparkSession

from penstock.client.blocking import client as blocking
from penstock.content.rows.columns import AttributeType
from penstock.spark.land import landing as landing_module
from penstock.spark.land.columns import AttributeColumn, Columns, columns_of, declare
from penstock.spark.land.landing import (
    Landed,
    MessageLanding,
    _agree,
    create_message_table,
    drop_days,
    message_stream,
    open_message_table,
    version_at,
    versions,
)
from penstock.spark.land.task import Told
from penstock.spark.tables.table import OpenTable, TableError
from tests.spark.conftest import StartBroker, url_of

pytestmark = pytest.mark.xdist_group("spark")

INT, FLOAT = AttributeType.INT, AttributeType.FLOAT


@pytest.fixture
def url(start_broker: StartBroker, request: pytest.FixtureRequest) -> str:
    """A broker of the test's own, whose streams hold only what it publishes."""
    return url_of(start_broker(request.node.name[:40], 'pubends = ["b.1", "b.2"]'))


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    with blocking.connect(url) as connected:
        yield connected


@pytest.fixture
def table(tmp_path: Path) -> OpenTable:
    return create_message_table(tmp_path / "table", "kind = 'quote'")


def publish(client: blocking.Client, pubend: str, *rows: dict[str, Any]) -> None:
    with client.publisher(pubend=pubend) as publisher:
        publisher.publish_batch([({"kind": "quote", **row}, b"p") for row in rows])


def land(spark: SparkSession, table: OpenTable, url: str, **options: Any) -> list[Landed]:
    told: list[Landed] = []
    stream = message_stream(spark, url, {"selector": "kind = 'quote'", **options})
    MessageLanding(table, told.append).start(stream, every_s=None).awaitTermination()
    return told


def rows_of(table: OpenTable) -> list[dict[str, Any]]:
    """The attributes of all messages, in the order of their ticks, read by another tool."""
    found = polars.scan_delta(str(table.path)).sort("tick").collect().to_dicts()
    fixed = ("pubend", "tick", "time", "payload", "more_attributes", "day", "kind")
    return [
        {name: value for name, value in row.items() if name not in fixed and value is not None}
        for row in found
    ]


def test_attributes_are_columns_that_appear_with_the_messages(
    spark: SparkSession, table: OpenTable, url: str, client: blocking.Client
) -> None:
    publish(client, "b.1", {"symbol": "ACME", "price": 101.5}, {"symbol": "HOOLI", "price": 7})
    client.publisher(pubend="b.1").publish_batch([({"kind": "other"}, b"")])
    (first,) = land(spark, table, url)
    assert (first.rows, first.new_columns) == (2, ["kind", "price", "symbol"])

    publish(client, "b.2", {"symbol": 5, "open": True, "raw": b"\x00\xff"})
    (second,) = [each for each in land(spark, table, url) if each.rows]
    assert second.new_columns == ["open", "raw", "symbol_int"]
    assert rows_of(table) == [
        {"symbol": "ACME", "price": 101.5},
        {"symbol": "HOOLI", "price": 7.0},
        {"symbol_int": 5, "open": True, "raw": b"\x00\xff"},
    ]
    quotes = table.snapshot().delta.to_pyarrow_dataset()
    counted = duckdb.sql("SELECT pubend, count(*), max(price) FROM quotes GROUP BY 1 ORDER BY 1")
    assert counted.fetchall() == [("b.1", 2, 101.5), ("b.2", 1, None)]
    assert quotes.count_rows() == 3


def test_a_declared_column_keeps_its_type(
    spark: SparkSession, table: OpenTable, url: str, client: blocking.Client
) -> None:
    table.add_columns(declare("price double", table.snapshot().columns))
    publish(client, "b.1", {"price": 7})
    (landed,) = land(spark, table, url)
    assert landed.new_columns == ["kind"]
    assert rows_of(table) == [{"price": 7.0}]


def test_a_batch_that_is_repeated_after_a_crash_is_in_the_table_once(
    spark: SparkSession, table: OpenTable, url: str, client: blocking.Client
) -> None:
    publish(client, "b.1", *({"n": number} for number in range(50)))

    def die(landed: Landed) -> None:
        raise RuntimeError("killed")

    stream = message_stream(spark, url, {"selector": "kind = 'quote'"})
    query = MessageLanding(table, die).start(stream, every_s=None)
    with pytest.raises(Exception, match="killed"):
        query.awaitTermination()

    publish(client, "b.1", *({"n": number} for number in range(50, 80)))
    told = land(spark, table, url)
    assert [(each.batch, each.rows) for each in told] == [(0, 0), (1, 30)]
    assert [row["n"] for row in rows_of(table)] == list(range(80))


def test_a_job_that_dies_before_its_commit_leaves_no_message_twice(
    spark: SparkSession,
    table: OpenTable,
    url: str,
    client: blocking.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish(client, "b.1", {"n": 1})

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(OpenTable, "commit", die)
        stream = message_stream(spark, url, {"selector": "kind = 'quote'"})
        query = MessageLanding(table, lambda landed: None).start(stream, every_s=None)
        with pytest.raises(Exception, match="killed"):
            query.awaitTermination()
    assert rows_of(table) == []
    land(spark, table, url)
    assert rows_of(table) == [{"n": 1}]
    assert table.remove_unused(older_than_s=0) == 1


def test_versions_are_found_by_the_time_of_their_messages(
    spark: SparkSession,
    table: OpenTable,
    url: str,
    client: blocking.Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(landing_module, "COMPACT_EVERY", 2)
    publish(client, "b.1", {"n": 1})
    (first,) = land(spark, table, url)
    publish(client, "b.2", {"n": 2})
    second = land(spark, table, url)[-1]
    assert rows_of(table) == [{"n": 1}, {"n": 2}]
    assert {file.rows for file in table.snapshot().files.values()} == {2}
    ticks = [each.last_ticks for each in versions(table) if each.last_ticks]
    assert ticks == [{"b.2": second.newest_ns}, {"b.1": first.newest_ns}]
    before = version_at(table, second.newest_ns)
    assert before is not None
    assert table.snapshot(before).rows == 1
    at_end = version_at(table, second.newest_ns + 1)
    assert at_end is not None
    assert table.snapshot(at_end).rows == 2
    assert version_at(table, 0) is None or table.snapshot(version_at(table, 0)).rows == 0

    assert drop_days(table, date(2001, 1, 1)) == []
    assert [file.rows for file in drop_days(table, date(2100, 1, 1))] == [2]
    assert table.snapshot().rows == 0


def test_a_table_belongs_to_one_selector(tmp_path: Path, table: OpenTable) -> None:
    assert create_message_table(table.path, "kind = 'quote'").path == table.path
    with pytest.raises(TableError, match="holds what the selector \"kind = 'quote'\" chose"):
        create_message_table(table.path, "kind = 'order'")
    with pytest.raises(TableError, match="there is no table"):
        open_message_table(tmp_path / "nowhere")


def test_tasks_that_chose_differently_are_brought_to_agree() -> None:
    columns = Columns()
    one = Told([], [AttributeColumn("n", "n", INT)], {})
    other = Told([], [AttributeColumn("n", "n", FLOAT)], {})
    assert not _agree(columns, [one, other])
    assert [each.column for each in columns.all()] == ["n", "n_float"]
    assert _agree(columns, [one, Told([], [AttributeColumn("n_float", "n", FLOAT)], {})])
    assert columns_of(table_schema(columns)).all() == columns.all()


def table_schema(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.schema([each.arrow for each in columns.all()])


def test_a_batch_whose_tasks_chose_differently_is_written_again(
    spark: SparkSession, table: OpenTable, url: str, client: blocking.Client
) -> None:
    publish(client, "b.1", *({"n": number} for number in range(100)))
    publish(client, "b.2", *({"n": number / 2} for number in range(100)))
    (landed,) = land(spark, table, url, minPartitions=2, maxPartitions=2)
    assert landed.rows == 200
    numbers = [row for row in landed.new_columns if row != "kind"]
    assert len(numbers) == 2
    found = rows_of(table)
    assert sum(next(iter(row.values())) for row in found) == 4950 + 2475

"""Micro-batches land in the lake once each, whatever is repeated, and report their lag."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.cli.spark.pipeline import COMMAND
from penstock.client.blocking import client as blocking
from penstock.core.clock import SECOND
from penstock.net.process import BrokerProcess
from penstock.spark.lake import landing as landing_module
from penstock.spark.lake.frame import read_files
from penstock.spark.lake.lake import create_lake
from penstock.spark.lake.landing import ATTRIBUTES, Landed, Landing, lake_rows, telemetry_stream
from penstock.spark.tables.table import OpenTable

pytestmark = pytest.mark.xdist_group("spark")

MESSAGES = f"{ATTRIBUTES}, payload binary"


class Brokers:
    """Telemetry messages as files that a stream reads, one micro-batch per file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0
        directory.mkdir()

    def publish(self, *values: float, run: str | None = "up", at_ns: int | None = None) -> None:
        at = time.time_ns() if at_ns is None else at_ns
        table = pa.table(
            {
                "run": pa.array([run] * len(values), pa.string()),
                "at_ns": pa.array([at] * len(values), pa.int64()),
                "node": ["b"] * len(values),
                "subject": ["p"] * len(values),
                "metric": ["m"] * len(values),
                "value": pa.array(values, pa.float64()),
                "payload": pa.array([b"why"] * len(values), pa.binary()),
            }
        )
        self.count += 1
        pq.write_table(table, self.directory / f"{self.count}.parquet")

    def stream(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.schema(MESSAGES).option("maxFilesPerTrigger", 1)
        return lake_rows(reader.parquet(str(self.directory)))


@pytest.fixture
def brokers(tmp_path: Path) -> Brokers:
    return Brokers(tmp_path / "messages")


@pytest.fixture
def lake(tmp_path: Path) -> OpenTable:
    return create_lake(tmp_path / "lake")


def land_all(spark: SparkSession, lake: OpenTable, brokers: Brokers) -> list[Landed]:
    told: list[Landed] = []
    query = Landing(lake, told.append).start(brokers.stream(spark), every_s=None)
    query.awaitTermination()
    return told


def values(spark: SparkSession, lake: OpenTable) -> list[float]:
    rows = read_files(spark, lake, lake.snapshot().files.values())
    return sorted(row["value"] for row in rows.collect())


def test_every_batch_lands_once_and_reports_its_lag(
    spark: SparkSession, lake: OpenTable, brokers: Brokers
) -> None:
    brokers.publish(1, 2)
    brokers.publish(3, at_ns=time.time_ns() - 5 * SECOND)
    told = land_all(spark, lake, brokers)
    assert [(each.batch, each.rows, each.total_rows) for each in told] == [(0, 2, 2), (1, 1, 3)]
    assert told[1].lag_s >= 5.0 > 0.0

    brokers.publish(4)
    again = land_all(spark, lake, brokers)
    assert [(each.batch, each.rows) for each in again] == [(2, 1)]
    assert values(spark, lake) == [1, 2, 3, 4]


def test_a_row_holds_the_values_of_the_message(
    spark: SparkSession, lake: OpenTable, brokers: Brokers
) -> None:
    brokers.publish(1.5, at_ns=1_700_000_000 * SECOND + 7)
    land_all(spark, lake, brokers)
    (row,) = read_files(spark, lake, lake.snapshot().files.values()).collect()
    assert row.asDict() == {
        "at_ns": 1_700_000_000 * SECOND + 7,
        "node": "b",
        "subject": "p",
        "metric": "m",
        "value": 1.5,
        "detail": "why",
        "run": "up",
        "day": "2023-11-14",
    }


def test_a_batch_that_is_repeated_after_a_crash_is_recognised(
    spark: SparkSession, lake: OpenTable, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job dies after its commit to the lake and before Spark has noted the batch as done."""
    brokers.publish(1, 2)

    def die(landed: Landed) -> None:
        raise RuntimeError("killed")

    query = Landing(lake, die).start(brokers.stream(spark), every_s=None)
    with pytest.raises(Exception, match="killed"):
        query.awaitTermination()
    assert values(spark, lake) == [1, 2]

    brokers.publish(3)
    told = land_all(spark, lake, brokers)
    assert [(each.batch, each.rows) for each in told] == [(0, 0), (1, 1)]
    assert values(spark, lake) == [1, 2, 3]


def test_a_job_that_dies_before_its_commit_leaves_no_visible_rows(
    spark: SparkSession, lake: OpenTable, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.publish(1, 2)

    def die(*_: object, **__: object) -> None:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(OpenTable, "commit", die)
        query = Landing(lake, lambda landed: None).start(brokers.stream(spark), every_s=None)
        with pytest.raises(Exception, match="killed"):
            query.awaitTermination()
    assert values(spark, lake) == []
    land_all(spark, lake, brokers)
    assert values(spark, lake) == [1, 2]
    assert lake.remove_unused(older_than_s=0) == 1


def test_the_job_compacts_regularly(
    spark: SparkSession, lake: OpenTable, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing_module, "COMPACT_EVERY", 3)
    for number in range(4):
        brokers.publish(number)
    land_all(spark, lake, brokers)
    assert sorted(file.rows for file in lake.snapshot().files.values()) == [1, 3]
    assert values(spark, lake) == [0, 1, 2, 3]


def test_incomplete_measurements_are_dropped_and_rows_without_a_run_get_a_folder(
    spark: SparkSession,
) -> None:
    messages = spark.createDataFrame(
        [
            (None, 1, None, None, "m", 1.0, None),
            ("", 2, "b", "p", "m", 2.0, b"d"),
            ("r", None, "b", "p", "m", 3.0, b""),
            ("r", 4, "b", "p", None, 4.0, b""),
            ("r", 5, "b", "p", "m", None, b""),
        ],
        MESSAGES,
    )
    kept = [row.asDict() for row in lake_rows(messages).orderBy("at_ns").collect()]
    assert [(row["run"], row["node"], row["subject"], row["detail"]) for row in kept] == [
        ("unnamed", "", "", ""),
        ("unnamed", "b", "p", "d"),
    ]


def test_the_telemetry_of_a_real_broker_lands_once(
    spark: SparkSession, lake: OpenTable, start_broker: Callable[..., BrokerProcess]
) -> None:
    """Broker, guaranteed service, Penstock's source, lake; then once more from the checkpoint."""
    telemetry = '[telemetry]\npublish = true\nrun = "trial"\ninterval_s = 0.1'
    broker = start_broker("watched", telemetry)
    host, port = broker.address
    url = f"penstock://{host}:{port}"
    told: list[Landed] = []
    for _ in range(2):
        # Wait while the stream is empty: the broker has just begun to measure.
        before = lake.snapshot().rows
        while lake.snapshot().rows == before:
            landing = Landing(lake, told.append)
            landing.start(telemetry_stream(spark, url), every_s=None).awaitTermination()
    rows = read_files(spark, lake, lake.snapshot().files.values())
    found = [row.asDict() for row in rows.collect()]
    assert len(found) == sum(each.rows for each in told)
    assert {row["run"] for row in found} == {"trial"}
    assert {row["node"] for row in found} == {"watched"}
    # A pubend is measured once per instant; readers with the same name are several subjects.
    own = [(row["at_ns"], row["metric"]) for row in found if row["subject"] == "watched.1"]
    assert len(set(own)) == len(own) > 0
    counted = sorted(row["at_ns"] for row in found if row["metric"] == "published_messages")
    assert len(counted) >= 2
    assert not any("telemetry@" in row["subject"] for row in found)


def published_up_to(url: str, ends: dict[str, int]) -> Counter[tuple[object, ...]]:
    """The brokers' own telemetry below these ticks, as rows of the lake."""
    with blocking.connect(url) as client:
        bounds = client.streams()
        starts = {pubend: bounds[pubend].earliest for pubend in ends}
        return Counter(
            (
                *(message[name] for name in ("at_ns", "node", "subject", "metric", "value", "run")),
                message.payload.decode(),
            )
            for message in client.subscribe(start=starts, end=ends)
        )


def test_a_landing_job_that_is_killed_lands_everything_once(
    spark: SparkSession,
    start_broker: Callable[..., BrokerProcess],
    kill_in_the_middle_of_a_batch: Callable[[subprocess.Popen[bytes], Path], int],
    last_batch: Callable[[Path], int],
    tmp_path: Path,
) -> None:
    """``kill -9`` of the command in the middle of a batch; a new job continues the work."""
    broker = start_broker("killed", "[telemetry]\npublish = true\ninterval_s = 0.05")
    url = "penstock://{}:{}".format(*broker.address)
    lake = create_lake(tmp_path / "lake")
    checkpoint = lake.path / "_checkpoints" / "telemetry"
    where = ["--path", str(lake.path), "--url", url]
    with (tmp_path / "job.log").open("wb") as log:
        job = subprocess.Popen(
            [*COMMAND, *where, "--every", "0.1", "--master", "local[1]"],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        killed_in = kill_in_the_middle_of_a_batch(job, checkpoint)

    told: list[Landed] = []
    query = Landing(lake, told.append).start(telemetry_stream(spark, url), every_s=None)
    query.awaitTermination()

    assert told[0].batch == killed_in
    last = checkpoint / "offsets" / str(last_batch(checkpoint / "offsets"))
    ends = json.loads(last.read_text().splitlines()[-1])["next"]
    rows = read_files(spark, lake, lake.snapshot().files.values())
    columns = ("at_ns", "node", "subject", "metric", "value", "run", "detail")
    landed = Counter(tuple(row) for row in rows.select(*columns).collect())
    assert landed == published_up_to(url, ends)
    assert landed.total() > sum(each.rows for each in told)

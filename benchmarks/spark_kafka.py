"""Spark's Kafka source beside a Kafka broker, from Maven Central, for the comparison of sources.

Neither is part of Spark or Debian; if they are not available, ``NoKafka`` names the reason.

At the time of writing, Central as reached here had no connector for Spark 4.3, and of the token
provider only 4.0.0 among the tested versions (4.0.0 to 4.2.0).  The parts therefore have different
versions; they work with Spark 4.3 where no token is requested, as here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness.kafka_server import kafka_jars, kafka_server
from benchmarks.harness.maven import Artifact, NotDownloaded, downloaded

NoKafka = NotDownloaded

ARTIFACTS: Final = (
    # Without dependencies: Spark has them, except for the broker's own client library.
    Artifact("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0", alone=True),
    Artifact("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0", alone=True),
    Artifact("org.apache.commons", "commons-pool2", "2.12.1"),
)
CLIENT_LIBRARY: Final = "kafka-clients-*.jar"

TOPIC: Final = "rows"
PARTITIONS: Final = 2
"""As many as Spark has cores: Kafka's source reads a partition with one task."""


def session_settings() -> dict[str, str]:
    """The settings of a Spark session for Kafka."""
    connector = downloaded("kafka-spark", ARTIFACTS).glob("*.jar")
    wanted = sorted([*connector, *kafka_jars().glob(CLIENT_LIBRARY)])
    return {"spark.jars": ",".join(map(str, wanted))}


@contextmanager
def kafka(directory: Path) -> Iterator[str]:
    """A broker with one empty topic; yields its address."""
    directory.mkdir()
    with kafka_server(directory, PARTITIONS) as server:
        yield f"127.0.0.1:{server.port}"


def kafka_frame(spark: SparkSession, rows: DataFrame, address: str) -> DataFrame:
    """The same rows in Kafka, with the columns that correspond to ours; raises if some are lost."""
    server = {"kafka.bootstrap.servers": address}
    values = rows.selectExpr("payload AS value")
    values.write.format("kafka").options(**server, topic=TOPIC).save()
    read = spark.read.format("kafka").options(**server, subscribe=TOPIC).load()
    if read.count() != rows.count():
        raise RuntimeError("Kafka does not hold all published rows")
    return read.select("offset", "timestamp", "value")

"""A Kafka broker and Spark's Kafka source, from Maven Central, for the comparison of sources.

Neither comes with Spark or with Debian.  Where Maven is installed and reaches Central, by its own
settings, the jars are copied once into a cache; where it does not, ``NoKafka`` says why.  The
broker runs on loopback in a directory of its own (KRaft: one process is broker and controller).

When this was written, Central as reached here had no connector for Spark 4.3, and of the token
provider only 4.0.0 among the versions that were tried (4.0.0 to 4.2.0).  So the parts are of
different versions; they work with Spark 4.3 where no token is asked for, as here.
"""

from __future__ import annotations

import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness.server import served
from penstock.net.process import free_port
from penstock.spark.java_home import find_java_home

CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
TOKEN_PROVIDER: Final = "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0"
POOL: Final = "org.apache.commons:commons-pool2:2.12.1"
BROKER: Final = "org.apache.kafka:kafka_2.13:3.9.1"
SILENT_LOGGING: Final = "org.slf4j:slf4j-nop:1.7.36"

ALONE: Final = (CONNECTOR, TOKEN_PROVIDER)
"""Without what they depend on: Spark brings it."""

FOR_SPARK: Final = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")
"""How the names of the jars begin that the driver needs; it has the others itself."""

CACHE: Final = Path("out") / "kafka-jars"
DOWNLOAD_TIMEOUT_S: Final = 300.0
TOPIC: Final = "rows"
PARTITIONS: Final = 2
"""As many as Spark has cores: Kafka's source reads a partition with one task."""


class NoKafka(RuntimeError):
    """Kafka cannot be had here; the message says why."""


def jars() -> Path:
    """The directory with all jars, downloaded if need be."""
    done = CACHE / "complete"
    if done.exists():
        return CACHE
    maven = shutil.which("mvn")
    if maven is None:
        raise NoKafka("Maven (mvn) is not installed, which would download it")
    CACHE.mkdir(parents=True, exist_ok=True)
    (CACHE / "pom.xml").write_text(_pom())
    output = f"-DoutputDirectory={CACHE.resolve()}"
    command = [maven, "-q", "-B", "dependency:copy-dependencies", output]
    try:
        subprocess.run(
            [*command, "-DincludeScope=runtime"],
            cwd=CACHE,
            check=True,
            timeout=DOWNLOAD_TIMEOUT_S,
            capture_output=True,
            text=True,
        )
    except subprocess.TimeoutExpired:
        raise NoKafka(f"Maven Central did not answer within {DOWNLOAD_TIMEOUT_S:g} s") from None
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stdout.splitlines() if "[ERROR]" in line]
        raise NoKafka(f"Maven could not download it: {said[0] if said else error}") from None
    done.touch()
    return CACHE


def _pom() -> str:
    dependencies = "".join(
        f"<dependency>{_coordinates(each)}{_EXCLUDE_ALL if each in ALONE else ''}</dependency>"
        for each in (CONNECTOR, TOKEN_PROVIDER, POOL, BROKER, SILENT_LOGGING)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"{_coordinates('benchmarks:kafka:1')}<dependencies>{dependencies}</dependencies></project>"
    )


_EXCLUDE_ALL: Final = (
    "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
)


def _coordinates(text: str) -> str:
    group, artifact, version = text.split(":")
    return (
        f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
    )


def session_settings() -> dict[str, str]:
    """What a Spark session needs to know Kafka."""
    wanted = [str(jar) for jar in sorted(jars().glob("*.jar")) if jar.name.startswith(FOR_SPARK)]
    return {"spark.jars": ",".join(wanted)}


@contextmanager
def kafka(directory: Path) -> Iterator[str]:
    """A broker with one empty topic; gives its address."""
    directory.mkdir()
    port, controller_port = free_port(), free_port()
    settings = directory / "server.properties"
    settings.write_text(
        "process.roles=broker,controller\nnode.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller_port}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}\n"
        "controller.listener.names=CONTROLLER\n"
        f"log.dirs={directory / 'data'}\nnum.partitions={PARTITIONS}\n"
        "offsets.topic.replication.factor=1\n"
    )
    java = [str(find_java_home() / "bin" / "java"), "-Xmx1g", "-cp", f"{jars().resolve()}/*"]
    cluster = urlsafe_b64encode(uuid.UUID(int=1).bytes).decode().rstrip("=")
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
    subprocess.run(formatting, check=True, capture_output=True, cwd=directory)
    with served([*java, "kafka.Kafka", str(settings)], directory, port):
        yield f"127.0.0.1:{port}"


def kafka_frame(spark: SparkSession, rows: DataFrame, address: str) -> DataFrame:
    """The same rows in Kafka, and the columns that correspond to ours; raises if some are lost."""
    server = {"kafka.bootstrap.servers": address}
    values = rows.selectExpr("payload AS value")
    values.write.format("kafka").options(**server, topic=TOPIC).save()
    read = spark.read.format("kafka").options(**server, subscribe=TOPIC).load()
    if read.count() != rows.count():
        raise RuntimeError("Kafka does not hold what was published")
    return read.select("offset", "timestamp", "value")

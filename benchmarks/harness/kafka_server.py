"""A Kafka broker from Maven Central, on loopback in a directory of its own.

KRaft: one process is broker and controller.  It has the heap and the collector of Kafka's own start
script.  Only those settings differ from the defaults that must on a single broker, and two that
save seconds at the start: the topic of the groups' offsets has one partition instead of fifty, and
a group does not wait for further members.
"""

from __future__ import annotations

import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness.maven import Artifact, downloaded
from benchmarks.harness.server import Server, ServerFailed, served
from penstock.net.process import free_port
from penstock.spark.java_home import find_java_home

VERSION: Final = "3.9.1"
ARTIFACTS: Final = (
    Artifact("org.apache.kafka", "kafka_2.13", VERSION),
    Artifact("org.slf4j", "slf4j-nop", "1.7.36"),
)
JAVA_OPTIONS: Final = (
    "-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)  # fmt: skip
"""As in kafka-server-start.sh and kafka-run-class.sh."""

FORMAT_TIMEOUT_S: Final = 60.0

SETTINGS: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
controller.listener.names=CONTROLLER
log.dirs={data}
num.partitions={partitions}
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
"""


def kafka_jars() -> Path:
    """The directory with the broker's jars, downloaded if need be."""
    return downloaded("kafka-broker", ARTIFACTS)


@contextmanager
def kafka_server(directory: Path, partitions: int = 1) -> Iterator[Server]:
    """A broker whose topics have this many partitions by default."""
    port, controller_port = free_port(), free_port()
    settings = directory / "server.properties"
    settings.write_text(
        SETTINGS.format(
            port=port,
            controller_port=controller_port,
            data=directory / "data",
            partitions=partitions,
        )
    )
    java = [
        str(find_java_home() / "bin" / "java"), *JAVA_OPTIONS, "-cp", f"{kafka_jars()}/*"
    ]  # fmt: skip
    cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
    made = subprocess.run(
        formatting, capture_output=True, text=True, cwd=directory, timeout=FORMAT_TIMEOUT_S
    )
    if made.returncode:
        raise ServerFailed(f"Kafka's StorageTool failed: {' '.join(made.stderr.split())[-600:]}")
    with served([*java, "kafka.Kafka", str(settings)], directory, port) as process:
        yield Server(port, process.pid)

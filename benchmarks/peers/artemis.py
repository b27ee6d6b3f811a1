"""ActiveMQ Artemis, over STOMP: a multicast address with durable subscriptions, journal synced.

The archive comes from Maven Central.  Its instance is created as its manual describes: the
journal's buffer is tuned to the disk, which takes a few seconds.
"""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.harness.maven import Artifact, downloaded
from benchmarks.harness.server import Server, ServerFailed, served
from benchmarks.peers import stomp
from penstock.net.process import free_port
from penstock.spark.java_home import find_java_home

VERSION: Final = "2.44.0"
ARCHIVE: Final = Artifact(
    "org.apache.activemq", "apache-artemis", VERSION, kind="tar.gz", classifier="bin", alone=True
)
CREATE_TIMEOUT_S: Final = 120.0

DIALECT: Final = stomp.Dialect(
    topic="bench",
    selected="selected",
    durable_header="durable-subscription-name",
    unsubscribe_header="durable-subscription-name",
    further=(("subscription-type", "MULTICAST"), ("consumer-window-size", "-1")),
    sending=(("destination-type", "MULTICAST"),),
)


def artemis_home() -> Path:
    """The archive, downloaded and unpacked if necessary."""
    directory = downloaded("artemis", [ARCHIVE])
    home = directory / f"apache-artemis-{VERSION}"
    if not home.exists():
        # Renamed when complete: an interrupted unpacking leaves nothing behind.
        with (
            tempfile.TemporaryDirectory(dir=directory) as place,
            tarfile.open(directory / f"{home.name}-bin.tar.gz") as packed,
        ):
            packed.extractall(place, filter="data")
            (Path(place) / home.name).rename(home)
    return home


@contextmanager
def start(directory: Path) -> Iterator[Server]:
    """A new instance with a single acceptor, on loopback."""
    instance = directory / "instance"
    environment = {"JAVA_HOME": str(find_java_home())}
    _create(artemis_home(), instance, environment)
    port = free_port()
    configuration = instance / "etc" / "broker.xml"
    acceptor = (
        f'<acceptors><acceptor name="stomp">tcp://127.0.0.1:{port}?protocols=STOMP</acceptor>'
        "</acceptors>"
    )
    text = re.sub(
        r"<acceptors>.*</acceptors>", acceptor, configuration.read_text(), flags=re.DOTALL
    )
    configuration.write_text(text)
    command = [str(instance / "bin" / "artemis"), "run"]
    with served(command, directory, port, environment) as process:
        yield Server(port, process.pid)


def _create(home: Path, instance: Path, environment: dict[str, str]) -> None:
    command = [
        str(home / "bin" / "artemis"), "create", str(instance), "--user", "guest",
        "--password", "guest", "--allow-anonymous", "--no-web", "--silent",
    ]  # fmt: skip
    made = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=CREATE_TIMEOUT_S,
        env={**os.environ, **environment},
    )
    if made.returncode:
        said = " ".join((made.stdout + made.stderr).split())
        raise ServerFailed(f"artemis create failed: {said[-600:]}")


ADDRESS: Final = stomp.variant("Artemis address", DIALECT, 0.1)

"""The same jobs on a cluster: a master and a worker of Spark, started on this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest

from penstock.client.blocking import client as blocking
from penstock.net.process import free_port
from penstock.spark.java_home import find_java_home
from penstock.spark.lake.lake import open_lake, runs_of

from .conftest import StartBroker, url_of

pytestmark = pytest.mark.xdist_group("spark")

SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE_S = 240.0
LOOK_AGAIN_S = 0.05
"""A test that polls without a pause would occupy the core that the job needs."""

JOB = """
import sys
from penstock.cli.main import status_of
from penstock.spark.session import build_session

master, url, telemetry_url = sys.argv[1:]
spark = build_session("cluster job", master, **{"spark.cores.max": "2"})
rows = spark.read.format("penstock").option("url", url).option("pubends", "a.1")
rows = rows.option("attributes", "n bigint").load()
sums = rows.groupBy((rows.n % 3).alias("rest")).count()
sums.write.format("penstock").option("url", url).option("pubend", "a.2").mode("append").save()
spark.stop()
where = ["--master", master, "--json"]
for command in (
    ["lake", "--path", "lake", "--url", telemetry_url, "--once"],
    ["sweep", "small.toml", "--seeds", "2", "--lake", "lake"],
):
    if status_of([*command, *where]):
        sys.exit(f"{command[0]} failed")
"""
"""One process for all: a warm driver saves each of them seconds."""

SMALL = """
name = "small"
duration_s = 2
[[brokers]]
name = "a"
pubends = 1
[[clients]]
service = "guaranteed"
role = "subscriber"
name = "s"
broker = "a"
[[clients]]
service = "guaranteed"
role = "publisher"
name = "p"
broker = "a"
rate_msgs_per_s = 5
"""


class Daemon:
    """A master or a worker, from Spark's own jars."""

    def __init__(self, name: str, log: Path, *arguments: str) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=log.parent,
                env={
                    **os.environ,
                    "JAVA_HOME": str(find_java_home()),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                },
            )

    def wait_for(self, said: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while not re.search(said, self.log.read_text()):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(LOOK_AGAIN_S)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Cluster:
    """A master and one worker."""

    def __init__(self, directory: Path) -> None:
        port = str(free_port())
        self.address = f"spark://127.0.0.1:{port}"
        local = ("--host", "127.0.0.1", "--webui-port", "0")
        self._started = [Daemon("master.Master", directory / "master.log", *local, "--port", port)]
        try:
            self._started[0].wait_for("I have been elected leader")
            worker = ("--cores", "2", "--memory", "1g", "--work-dir", str(directory / "work"))
            log = directory / "worker.log"
            self._started.append(Daemon("worker.Worker", log, *local, *worker, self.address))
            self._started[1].wait_for("Successfully registered with master")
        except BaseException:
            self.stop()
            raise

    def executors_of(self, application: str) -> int:
        """How many executors the worker has started for an application."""
        log = self._started[1].log.read_text()
        return len(re.findall(rf"Asked to launch executor \S+ for {application}\b", log))

    def has_launched(self, argument: str) -> bool:
        """Whether an executor was started with an argument."""
        launches = re.findall("Launch command: .*", self._started[1].log.read_text())
        return any(f'"{argument}"' in launch for launch in launches)

    def stop(self) -> None:
        for daemon in reversed(self._started):
            daemon.stop()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    started = Cluster(tmp_path)
    yield started
    started.stop()


def test_a_job_and_the_commands_run_on_the_executors_of_a_cluster(
    cluster: Cluster,
    url: str,
    client: blocking.Client,
    start_broker: StartBroker,
    tmp_path: Path,
) -> None:
    """Rows are read and written, telemetry is landed, and a scenario is swept."""
    client.publisher(pubend="a.1").publish_batch([({"n": n}, b"") for n in range(100)])
    start = client.streams()["a.2"].head
    measuring = url_of(start_broker("t", "[telemetry]\ninterval_s = 0.05\npublish = true"))
    with blocking.connect(measuring) as other, other.subscribe(pubends=["telemetry@t"]) as measured:
        measured.next_batch(deadline_s=PATIENCE_S)
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 480m\n")
    done = subprocess.run(
        [sys.executable, "-c", JOB, cluster.address, url, measuring],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
        # The host name may resolve to an address that executors cannot reach.
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for application in ("cluster job", "penstock lake", "penstock sweep"):
        assert cluster.executors_of(application) == 1
    assert cluster.has_launched("-Xmx480M"), "the cluster's settings were not applied"

    end = {"a.2": client.streams()["a.2"].head}
    messages = client.subscribe("", start={"a.2": start}, end=end).messages(deadline_s=30)
    counts = {message["rest"]: message["count"] for message in messages}
    assert counts == {0: 34, 1: 33, 2: 33}
    *landed, swept = map(json.loads, done.stdout.splitlines())
    assert landed[-1]["total_rows"] > 0
    assert (swept["runs"], swept["failed"]) == (2, {})
    runs = runs_of(open_lake(tmp_path / "lake").snapshot())
    assert runs == ["small-sweep.p000.s01", "small-sweep.p000.s02", "t"]

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

from penstock.client import blocking
from penstock.net.process import free_port
from penstock.spark.java_home import find_java_home

from .conftest import StartBroker, url_of

pytestmark = pytest.mark.xdist_group("spark")

COMMAND = (sys.executable, "-c", "from penstock.cli.main import run; run()")
SPARK_HOME = Path(pyspark.__file__).parent
PATIENCE_S = 240.0
LOOK_AGAIN_S = 0.05
"""A test that looks without a pause takes the core that it is waiting for."""

JOB = """
import sys
from penstock.spark.session import build_session

master, url = sys.argv[1:]
settings = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
}
spark = build_session("cluster job", master, **settings)
rows = spark.read.format("penstock").option("url", url).option("pubends", "a.1")
rows = rows.option("attributes", "n bigint").load()
sums = rows.groupBy((rows.n % 3).alias("rest")).count()
sums.write.format("penstock").option("url", url).option("pubend", "a.2").mode("append").save()
executors = spark.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
print(spark.sparkContext.master, len(executors))
spark.stop()
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
    """A master and one worker, for all tests here: they take seconds to start."""

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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.stop()


def run(directory: Path, *command: str) -> str:
    """What a command prints, once it has succeeded."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=directory,
        # The machine's own name may resolve to an address that executors do not reach.
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(directory)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_a_job_reads_and_writes_from_the_executors_of_a_cluster(
    cluster: Cluster, url: str, client: blocking.Client, tmp_path: Path
) -> None:
    client.publisher(pubend="a.1").publish_batch([({"n": n}, b"") for n in range(100)])
    start = client.streams()["a.2"].head
    said = run(tmp_path, sys.executable, "-c", JOB, cluster.address, url)
    # The driver counts as an executor too.
    assert said.splitlines()[-1] == f"{cluster.address} 2"
    end = {"a.2": client.streams()["a.2"].head}
    messages = client.subscribe("", start={"a.2": start}, end=end).messages(deadline_s=30)
    counts = {message["rest"]: message["count"] for message in messages}
    assert counts == {0: 34, 1: 33, 2: 33}


SMALL = """
name = "small"
duration_s = 2
[brokers.a]
pubends = 1
[[publishers]]
name = "p"
broker = "a"
rate_msgs_per_s = 5
[[subscribers]]
name = "s"
broker = "a"
"""


def test_commands_do_their_work_on_the_executors_of_a_cluster(
    cluster: Cluster, start_broker: StartBroker, tmp_path: Path
) -> None:
    """What brokers measure is landed, a scenario is swept, and both are reported on."""
    where = ("--lake", "lake", "--master", cluster.address, "--json")
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 480m\n")
    url = url_of(start_broker("t", "[telemetry]\ninterval_s = 0.05\npublish = true"))
    with blocking.connect(url) as client, client.subscribe(pubends=["telemetry@t"]) as measured:
        measured.next_batch(deadline_s=PATIENCE_S)
    landing = ("lake", "--path", "lake", "--url", url, "--once", *where[2:])
    landed = json.loads(run(tmp_path, *COMMAND, *landing).splitlines()[-1])
    assert landed["total_rows"] > 0
    assert cluster.executors_of("penstock lake") == 1
    assert cluster.has_launched("-Xmx480M"), "the cluster's settings hold"

    (tmp_path / "small.toml").write_text(SMALL)
    rates = ("--param", "publishers.p.rate_msgs_per_s=5,10", "--seeds", "2")
    swept = json.loads(run(tmp_path, *COMMAND, "sweep", "small.toml", *rates, *where))
    assert (swept["runs"], swept["failed"]) == (4, {})
    assert cluster.executors_of("penstock sweep") == 1

    report = json.loads(run(tmp_path, *COMMAND, "report", "t", "small-sweep.*", *where))
    assert report["runs"][0]["run"] == "t"
    assert len(report["runs"]) == 5
    assert cluster.executors_of("penstock report") == 1

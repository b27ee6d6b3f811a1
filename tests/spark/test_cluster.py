"""The same jobs on a cluster: a master and a worker of Spark, started on this machine."""

from __future__ import annotations

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

pytestmark = pytest.mark.xdist_group("spark")

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


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The address of a cluster of one worker."""
    port = str(free_port())
    address = f"spark://127.0.0.1:{port}"
    local = ("--host", "127.0.0.1", "--webui-port", "0")
    started = [Daemon("master.Master", tmp_path / "master.log", *local, "--port", port)]
    try:
        started[0].wait_for("I have been elected leader")
        worker = ("--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "work"))
        log = tmp_path / "worker.log"
        started.append(Daemon("worker.Worker", log, *local, *worker, address))
        started[1].wait_for("Successfully registered with master")
        yield address
    finally:
        for daemon in reversed(started):
            daemon.stop()


def test_a_job_reads_and_writes_from_the_executors_of_a_cluster(
    master: str, url: str, client: blocking.Client, tmp_path: Path
) -> None:
    client.publisher(pubend="a.1").publish_batch([({"n": n}, b"") for n in range(100)])
    start = client.streams()["a.2"].head
    done = subprocess.run(
        [sys.executable, "-c", JOB, master, url],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # The driver counts as an executor too.
    assert done.stdout.splitlines()[-1] == f"{master} 2"
    end = {"a.2": client.streams()["a.2"].head}
    messages = client.subscribe("", start={"a.2": start}, end=end).messages(deadline_s=30)
    counts = {message["rest"]: message["count"] for message in messages}
    assert counts == {0: 34, 1: 33, 2: 33}

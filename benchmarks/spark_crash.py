"""Kills everything around a Spark job and counts its output: ``make spark-crash``.

A job copies a stream through the sink while messages are published.  Meanwhile, in an order that
the seed decides, these are killed with ``kill -9`` and started again, or happen:

- ``driver``    the job with its JVM and all its Python processes
- ``worker``    the Python process of a task
- ``planner``   the Python process beside the driver that plans batches
- ``broker``    the broker
- ``rival``     a second driver runs on the same checkpoint for a while
- ``sinks``     many other sinks commit at the broker

At the end the checkpoint is deleted and a second job copies everything once more.  Then every
message must be in the copy of each job once: the checker reads the streams with the client and
knows nothing of Spark.

    python -m benchmarks.spark_crash --kills 24 --sinks 20000 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final

from penstock.client.blocking import client as blocking
from penstock.client.errors import PenstockError
from penstock.net.process import BrokerProcess, free_port

VICTIMS: Final = ("driver", "worker", "planner", "broker", "rival", "sinks")
PATIENCE_S: Final = 600.0
LOOK_EVERY_S: Final = 0.2
ROWS_A_PUBLICATION: Final = 50
PAUSE_S: Final = 0.05
"""Between two publications: a thousand messages a second."""


def job(url: str, checkpoint: str, copy: str) -> None:
    """The job, in a process of its own: copies what is published, with the name of the copy."""
    from pyspark.sql import functions as sql

    from penstock.spark.session import build_session

    spark = build_session("spark-crash", "local[2]")
    events = (
        spark.readStream.format("penstock")
        .option("url", url)
        .option("pubends", "events")
        .option("attributes", "n bigint")
        .option("startingOffsets", "earliest")
        .option("maxRowsPerTrigger", 2000)
        .option("minPartitions", 2)
        .load()
        .select("n", sql.lit(copy).alias("copy"))
    )
    query = (
        events.writeStream.format("penstock")
        .option("url", url)
        .option("pubend", "copies")
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    query.awaitTermination()


class Job:
    """The process of the job, which is started again when it has ended."""

    def __init__(self, url: str, checkpoint: Path, copy: str, log: Path) -> None:
        self.checkpoint = checkpoint
        self._arguments = [url, str(checkpoint), copy]
        self._log = log.open("ab")
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Start it; a session of its own, so that all its processes can be killed together."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.spark_crash", "job", *self._arguments],
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        return self.process

    def kill(self) -> None:
        """Kill the driver, its JVM and its Python processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ensure_running(self) -> None:
        """Start it again if a part that was killed has ended it."""
        if self.process.poll() is not None:
            self.kill()
            self.start()

    def committed(self) -> int:
        """The last batch that Spark has noted as done."""
        return max(_numbers(self.checkpoint / "commits"), default=-1)

    def wait_for_batches(self, count: int) -> None:
        """Wait until it has done this many more batches."""
        until, wanted = time.monotonic() + PATIENCE_S, self.committed() + count
        while self.committed() < wanted:
            if time.monotonic() > until:
                raise TimeoutError(f"the job did not get beyond batch {self.committed()}")
            self.ensure_running()
            time.sleep(LOOK_EVERY_S)

    def python_processes(self, part: str) -> list[int]:
        """Its Python processes whose command names a part of PySpark."""
        listed = subprocess.run(
            ["ps", "-eo", "pid,sid,args"], capture_output=True, text=True, check=True
        ).stdout
        found = [line.split(None, 2) for line in listed.splitlines()[1:]]
        return [
            int(pid)
            for pid, session, command in found
            if session == str(self.process.pid) and part in command
        ]


def _numbers(directory: Path) -> list[int]:
    if not directory.is_dir():
        return []
    return [int(path.name) for path in directory.iterdir() if path.name.isdigit()]


class Trial:
    """A broker, a publisher, a job, and what is done to them."""

    def __init__(self, directory: Path, seed: int, sinks: int) -> None:
        self.directory = directory
        self.random = Random(seed)
        self.sinks = sinks
        self.published = 0
        self.other_sinks = 0
        self.done: Counter[str] = Counter()
        config = directory / "b.toml"
        config.write_text(
            f'name = "b"\nlisten = "127.0.0.1:{free_port()}"\n'
            f'data_dir = "{directory / "data"}"\npubends = ["events", "copies", "other"]\n'
        )
        self.broker = BrokerProcess(config, directory / "b.log")
        self.broker.start()
        self.url = "penstock://{}:{}".format(*self.broker.address)
        self._stop = Event()
        self._publishing = Thread(target=self._publish)
        self._publishing.start()
        self.job = self.new_job("first")

    def new_job(self, copy: str) -> Job:
        """A job with a new checkpoint."""
        checkpoint = self.directory / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        return Job(self.url, checkpoint, copy, self.directory / "job.log")

    def _publish(self) -> None:
        with blocking.connect(self.url, deadline_s=PATIENCE_S) as client:
            publisher = client.publisher("events", pubend="events", first_sequence=0)
            while not self._stop.is_set():
                numbers = range(self.published, self.published + ROWS_A_PUBLICATION)
                publisher.publish_batch([({"n": number}, b"") for number in numbers])
                self.published += ROWS_A_PUBLICATION
                time.sleep(PAUSE_S)

    def harm(self, victim: str) -> None:
        """Kill one, or let a rival or other sinks do their worst; then the job must go on."""
        if victim == "driver":
            self.job.kill()
        elif victim == "broker":
            self.broker.kill()
            self.broker.start()
        elif victim == "rival":
            self._rival()
        elif victim == "sinks":
            self._other_sinks(max(1, self.sinks // 4))
        else:
            part = "pyspark.daemon" if victim == "worker" else "pyspark.sql"
            pids = self.job.python_processes(part)
            if not pids:
                return
            os.kill(self.random.choice(pids), signal.SIGKILL)
        self.done[victim] += 1
        self.job.wait_for_batches(2)

    def _rival(self) -> None:
        rival = Job(self.url, self.job.checkpoint, "first", self.directory / "rival.log")
        try:
            until = time.monotonic() + 30.0
            while rival.process.poll() is None and time.monotonic() < until:
                time.sleep(LOOK_EVERY_S)
        finally:
            rival.kill()

    def _other_sinks(self, count: int) -> None:
        """Writes without a name, as in a ``foreachBatch``; only the record counts, so no rows."""
        with blocking.connect(self.url, deadline_s=PATIENCE_S) as client:
            for number in range(self.other_sinks, self.other_sinks + count):
                client.sink(f"spark/other-{number}", pubend="other", once=True).commit(0, {})
        self.other_sinks += count

    def settle(self) -> None:
        """Stop publishing and wait until the job has copied everything."""
        self._stop.set()
        self._publishing.join()
        self.finish("first")

    def finish(self, copy: str) -> None:
        """Wait until a job's copy has everything, or says that it cannot."""
        until = time.monotonic() + PATIENCE_S
        while len(self.copies()[copy]) < self.published and time.monotonic() < until:
            self.job.ensure_running()
            time.sleep(2.0)
        self.job.kill()

    def copies(self) -> dict[str, Counter[int]]:
        """How often each number is in the copy of each job, read with the client."""
        found: dict[str, Counter[int]] = {"first": Counter(), "second": Counter()}
        try:
            with blocking.connect(self.url, deadline_s=60.0) as client:
                bounds = client.streams()["copies"]
                start, end = {"copies": bounds.earliest}, {"copies": bounds.head}
                for message in client.subscribe("n >= 0", start=start, end=end):
                    found[str(message["copy"])][int(message["n"])] += 1
        except PenstockError as error:
            print(f"not read: {error}")
        return found


def run(kills: int, sinks: int, seed: int) -> bool:
    """The whole trial; whether every message is in each copy once."""
    directory = Path(tempfile.mkdtemp(prefix="spark-crash-"))
    trial = Trial(directory, seed, sinks)
    trial.job.wait_for_batches(2)
    order = [VICTIMS[number % len(VICTIMS)] for number in range(kills)]
    trial.random.shuffle(order)
    for number, victim in enumerate(order, 1):
        print(f"{number} of {kills}: {victim}", flush=True)
        trial.harm(victim)
    trial._other_sinks(max(0, sinks - trial.other_sinks))
    trial.settle()
    print("the checkpoint is deleted", flush=True)
    trial.job = trial.new_job("second")
    trial.finish("second")
    good = report(trial)
    trial.broker.kill()
    if good:
        shutil.rmtree(directory)
    else:
        print(f"logs are in {directory}")
    return good


def report(trial: Trial) -> bool:
    """Print what was done and what was found."""
    print(", ".join(f"{count} x {victim}" for victim, count in sorted(trial.done.items())))
    print(f"{trial.other_sinks} other sinks; {trial.published} messages published")
    good = True
    for copy, counts in trial.copies().items():
        lost = sum(number not in counts for number in range(trial.published))
        twice = sum(count > 1 for count in counts.values())
        print(f"{copy} job: {len(counts)} copied, {lost} lost, {twice} more than once")
        good = good and not lost and not twice
    return good


def main() -> None:
    """Run the trial, or the job in its process."""
    if sys.argv[1:2] == ["job"]:
        job(*sys.argv[2:5])
        return
    parser = argparse.ArgumentParser(description="Kills a Spark job and counts its output.")
    parser.add_argument("--kills", type=int, default=24)
    parser.add_argument("--sinks", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    sys.exit(0 if run(options.kills, options.sinks, options.seed) else 1)


if __name__ == "__main__":
    main()

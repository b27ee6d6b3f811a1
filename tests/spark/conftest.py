"""One Spark session for the whole run, and real brokers to read from and write to."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.client.blocking import client as blocking
from penstock.net.process import BrokerProcess
from penstock.spark.session import build_session

StartBroker = Callable[..., BrokerProcess]

PATIENCE_S = 300.0
"""On a busy machine a session alone takes a minute to start."""

LOOK_AGAIN_S = 0.01
"""Short compared with a batch; polling without a pause would occupy the core that the job needs."""

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the ports that the system gives to outgoing connections, so that a broker that is started
again finds its port free."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """All tests share one session, because it takes seconds to start."""
    session = build_session(
        "penstock tests",
        "local[2]",
        **{"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))},
    )
    yield session
    session.stop()


def _steady_port() -> int:
    while True:
        port = random.randint(FIRST_PORT, LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@pytest.fixture(scope="module")
def start_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartBroker]:
    """Starts brokers that are stopped after the module's tests."""
    started: list[BrokerProcess] = []
    directory = tmp_path_factory.mktemp("brokers")

    def start(name: str, extra: str = "") -> BrokerProcess:
        config = directory / f"{name}.toml"
        config.write_text(
            f'name = "{name}"\n'
            f'listen = "127.0.0.1:{_steady_port()}"\n'
            f'data_dir = "{directory / name}"\n'
            f"{extra}\n"
        )
        broker = BrokerProcess(config, directory / f"{name}.log")
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.kill()


def url_of(broker: BrokerProcess) -> str:
    """Where clients reach a broker."""
    host, port = broker.address
    return f"penstock://{host}:{port}"


@pytest.fixture(scope="module")
def broker(start_broker: StartBroker) -> BrokerProcess:
    """One broker that all tests of a module share."""
    return start_broker("a", 'pubends = ["a.1", "a.2"]')


@pytest.fixture(scope="module")
def url(broker: BrokerProcess) -> str:
    """Where clients reach it."""
    return url_of(broker)


@pytest.fixture
def client(url: str) -> Iterator[blocking.Client]:
    """A client of it."""
    with blocking.connect(url) as connected:
        yield connected


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A checkpoint directory of its own."""
    return str(tmp_path / "checkpoint")


@pytest.fixture(scope="session")
def last_batch() -> Callable[[Path], int]:
    """Finds the highest batch in a directory of a checkpoint."""

    def last(directory: Path) -> int:
        if not directory.is_dir():
            return -1
        names = [path.name for path in directory.iterdir() if path.name.isdigit()]
        return max(map(int, names), default=-1)

    return last


@pytest.fixture(scope="session")
def kill_in_the_middle_of_a_batch(
    last_batch: Callable[[Path], int],
) -> Callable[[subprocess.Popen[bytes], Path], int]:
    """Kills a job's processes when some batches are done and one is planned but not done."""

    def kill(job: subprocess.Popen[bytes], checkpoint: Path) -> int:
        until = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < until:
                assert job.poll() is None, "the job ended before it could be killed"
                committed = last_batch(checkpoint / "commits")
                planned = last_batch(checkpoint / "offsets")
                if committed >= 1 and planned > committed:
                    return planned
                time.sleep(LOOK_AGAIN_S)
        finally:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
        raise AssertionError("the job did not get that far")

    return kill

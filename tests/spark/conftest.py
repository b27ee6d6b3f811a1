"""One Spark session for the whole run, and real brokers to read from and write to."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.client import blocking
from penstock.net.process import BrokerProcess
from penstock.spark.session import build_session

StartBroker = Callable[..., BrokerProcess]

FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the ports that the system gives to outgoing connections, so that a broker that is started
again finds its port free."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session takes seconds to start: all tests share it."""
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
    """Starts brokers that are gone when the module's tests are done."""
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

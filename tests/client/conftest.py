"""Real brokers: processes of their own, with real disks, on the loopback."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.net.process import BrokerProcess

StartBroker = Callable[..., BrokerProcess]


FIRST_PORT, LAST_PORT = 20_000, 32_000
"""Below the ports that the system gives to outgoing connections: while a broker is down, nobody
who dials anything may get its port, or it could not come back."""


def steady_port() -> int:
    """A port that is free now and stays free while its broker is being restarted."""
    while True:
        port = random.randint(FIRST_PORT, LAST_PORT)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def write_config(directory: Path, name: str, extra: str = "") -> Path:
    """A broker at a port that stays the same when it is started again."""
    path = directory / f"{name}.toml"
    path.write_text(
        f'name = "{name}"\n'
        f'listen = "127.0.0.1:{steady_port()}"\n'
        f'data_dir = "{directory / name}"\n'
        f"{extra}\n"
    )
    return path


@pytest.fixture(scope="module")
def start_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartBroker]:
    """Starts brokers that are gone when the module's tests are done."""
    started: list[BrokerProcess] = []
    directory = tmp_path_factory.mktemp("brokers")

    def start(name: str, extra: str = "") -> BrokerProcess:
        config = write_config(directory, name, extra)
        broker = BrokerProcess(config, directory / f"{name}.log")
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.kill()


def url_of(*brokers: BrokerProcess) -> str:
    """Where clients reach these brokers."""
    return "penstock://" + ",".join(f"{host}:{port}" for host, port in (b.address for b in brokers))


@pytest.fixture(scope="module")
def broker(start_broker: StartBroker) -> BrokerProcess:
    """One broker that all tests of a module share."""
    return start_broker("a", 'pubends = ["a.1", "a.2"]')


@pytest.fixture
def url(broker: BrokerProcess) -> str:
    """Where clients reach it."""
    return url_of(broker)

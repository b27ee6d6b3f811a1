from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from penstock.net.broker.config import broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerFailed, BrokerProcess, free_port


@pytest.fixture
def config_path(tmp_path: Path) -> Path:
    path = tmp_path / "b.toml"
    write_config(path, broker_config("b", "data", listen="127.0.0.1:0"))
    return path


async def test_a_broker_that_is_killed_keeps_what_it_acknowledged(
    config_path: Path, tmp_path: Path, dial_client: Any
) -> None:
    broker = BrokerProcess(config_path, tmp_path / "b.log")
    ready = broker.start()
    assert (ready.name, ready.host) == ("b", "127.0.0.1")
    assert broker.running
    client = await dial_client(*broker.address)
    await client.publish("p", 0, [b"0", b"1"])

    broker.kill()

    assert not broker.running
    await client.closed()
    with broker:
        client = await dial_client(*broker.address)
        await client.subscribe("s", start="earliest")
        assert await client.delivered("s", 2) == [b"0", b"1"]
        # Stopping blocks this loop, so the client could not answer the broker's goodbye.
        client.connection.close("done")
        await client.connection.wait_closed()


def test_a_broker_stops_in_good_order_and_starts_again(config_path: Path, tmp_path: Path) -> None:
    with BrokerProcess(config_path, tmp_path / "b.log") as broker:
        first = broker.ready
        assert first is not None
        assert broker.restart().process != first.process
        with pytest.raises(BrokerFailed, match="runs already"):
            broker.start()
    assert not broker.running
    assert "stops: the broker is stopping" in (tmp_path / "b.log").read_text()


def test_a_broker_that_does_not_come_up_is_quoted(config_path: Path, tmp_path: Path) -> None:
    config_path.write_text('name = "b"\ndata_dir = "data"\nlisten = "nowhere"\n')

    with pytest.raises(BrokerFailed, match="listen: 'nowhere' is not an address"):
        BrokerProcess(config_path, tmp_path / "b.log").start()


def test_a_broker_that_says_nothing_is_given_up(config_path: Path, tmp_path: Path) -> None:
    broker = BrokerProcess(config_path, tmp_path / "b.log", ["sleep", "1000", "#"])
    with pytest.raises(BrokerFailed, match="did not come up within"):
        broker.start(timeout_s=0.05)
    assert not broker.running


def test_an_unexpected_end_is_told(config_path: Path, tmp_path: Path) -> None:
    script = """
        trap "exit 3" TERM
        echo '{"name": "b", "host": "h", "port": 1, "process": 1}'
        while :; do sleep 0.01; done
    """
    broker = BrokerProcess(config_path, tmp_path / "b.log", ["sh", "-c", script])
    broker.start()
    with pytest.raises(BrokerFailed, match="ended with status 3"):
        broker.terminate()


def test_an_address_is_known_only_after_the_start(config_path: Path, tmp_path: Path) -> None:
    with pytest.raises(BrokerFailed, match="never started"):
        BrokerProcess(config_path, tmp_path / "b.log").address  # noqa: B018


def test_a_free_port_can_be_listened_on() -> None:
    assert 1024 <= free_port() <= 65_535


def test_a_port_is_free_and_none_that_an_outgoing_connection_may_get() -> None:
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    ports = {free_port() for _ in range(20)}
    assert max(ports) < low
    assert len(ports) > 15
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        assert taken.getsockname()[1] < low

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.net.broker.config import (
    Address,
    BrokerConfig,
    ConfigError,
    DialConfig,
    Limits,
    NeighbourConfig,
    TelemetryConfig,
    load_config,
    parse_address,
    parse_config,
)
from penstock.net.tcp.connection import ConnectionOptions
from penstock.services.registry import broker_services

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "reference" / "broker-config.md"
LEAST: dict[str, Any] = {"name": "b1", "data_dir": "data"}


def test_the_least_that_is_needed() -> None:
    config = parse_config(LEAST)

    (guaranteed, *_) = config.node_config().settings
    assert guaranteed.pubends == ("b1.1",)
    assert config.listen_address == Address("127.0.0.1", 7400)
    assert config.node_config().name == "b1"


def test_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "b1.toml"
    path.write_text(
        """
        name = "b1"
        data_dir = "data"
        listen = "[::1]:0"
        pubends = ["orders", "trades"]
        admin = true

        [neighbours.b2]
        address = "b2.example:7400"
        cost = 3
        bandwidth_bytes_per_s = 60_000

        [limits]
        max_batch_rows = 100

        [connection]
        heartbeat_interval_s = 1

        [guaranteed]
        silence_interval_ns = 5

        [guaranteed.congestion]
        law = "paper"

        [telemetry]
        interval_s = 0.5
        """
    )

    config = load_config(path)

    assert config.data_dir == str(tmp_path / "data")
    assert config.listen_address == Address("::1", 0)
    assert config.neighbours["b2"].bandwidth_bytes_per_s == 60_000
    node = config.node_config()
    assert node.neighbours == {"b2": 3}
    (settings, *_) = node.settings
    assert settings.pubends == ("orders", "trades")
    assert settings.guaranteed.silence_interval_ns == 5
    assert settings.guaranteed.congestion.law == "paper"
    assert node.trace_interval_ns == 500_000_000


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"name": None}, "name: expected str"),
        ({"name": "a/b"}, "name: 'a/b' is not a name; use up to 64 letters"),
        ({"nmae": "x"}, r"nmae: unknown key; did you mean 'name'\?"),
        ({"zzz": 1}, "zzz: unknown key; known are name, data_dir"),
        ({"listen": "here"}, "listen: 'here' is not an address; write \"host:port\""),
        ({"listen": "here:99999"}, "listen: 'here:99999' is not an address"),
        ({"pubends": -1}, "pubends: expected int >= 0"),
        ({"pubends": ["a", "a"]}, "pubends: a name stands twice"),
        ({"pubends": ["a", 1]}, r"pubends\[1\]: expected str, got int"),
        ({"neighbours": 3}, "neighbours: expected one table for each"),
        ({"neighbours": {"b2": 3}}, "neighbours.b2: expected a table"),
        ({"neighbours": {"b2": {"adress": ""}}}, "neighbours.b2.adress: .* mean 'address'"),
        ({"neighbours": {"b2": {"address": "x"}}}, "neighbours.b2.address: 'x' is not an address"),
        ({"neighbours": {"b2": {"cost": 0}}}, "neighbours.b2.cost: expected int >= 1"),
        ({"neighbours": {"b1": {}}}, "neighbours.b1: a broker is not its own neighbour"),
        ({"limits": 3}, "limits: expected a table"),
        ({"limits": {"max_batch_row": 3}}, "limits.max_batch_row: .* mean 'max_batch_rows'"),
        ({"limits": {"max_batch_rows": "3"}}, "limits.max_batch_rows: expected int, got str"),
        ({"limits": {"max_payload_bytes": 1 << 30}}, "limits.max_payload_bytes: more than half"),
        ({"guaranteed": {"congestion": {"lax": 1}}}, "guaranteed.congestion.lax: unknown key"),
        ({"dial": {"first_delay_s": 9.0}}, "dial.first_delay_s: more than dial.longest_delay_s"),
        ({"connection": {"silent_heartbeats": 0}}, "connection.silent_heartbeats: expected int"),
    ],
)
def test_errors_name_the_key_and_what_to_do(settings: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        parse_config({**LEAST, **settings})


@pytest.mark.parametrize("key", ["name", "data_dir"])
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key}: missing; add it"):
        parse_config({known: value for known, value in LEAST.items() if known != key})


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", ":1: not TOML"),
        ("name = 3", ":1: name: expected str"),
        ('data_dir = "d"', ": name: missing; add it"),
        ('name = "b1"\ndata_dir = "d"\nlisten = "here"\n', ":3: listen: 'here' is not an address"),
        (
            'name = "b1"\ndata_dir = "d"\n[neighbours.b2]\n\ncots = 3\n',
            ":5: neighbours.b2.cots: unknown key; did you mean 'cost'?",
        ),
        (
            'name = "b1"\ndata_dir = "d"\n\n[guaranteed.congestion]\nlax = 1\n',
            ":5: guaranteed.congestion.lax: unknown key; did you mean 'law'?",
        ),
        ('name = "b1"\ndata_dir = "d"\npubends = ["a",\n"a"]\n', ":3: pubends: a name stands"),
    ],
)
def test_errors_name_the_file_and_the_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    assert str(raised.value).startswith(f"{path}{told}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"broken\.toml: cannot be read"):
        load_config(tmp_path / "broken.toml")


@pytest.mark.parametrize("text", ["127.0.0.1:80", "[::1]:80", "host.example:0"])
def test_an_address_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_address(text, "listen")) == text


def test_no_host_means_every_interface() -> None:
    assert parse_address(":7400", "listen") == Address("0.0.0.0", 7400)


KINDS = [BrokerConfig, NeighbourConfig, Limits, ConnectionOptions, DialConfig, TelemetryConfig]
TABLES = [each.table for each in broker_services() if each.table]


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_every_key_is_documented_with_its_default(kind: type[msgspec.Struct]) -> None:
    text = DOCUMENTATION.read_text()
    for field in msgspec.structs.fields(kind):
        if field.name == "tables":
            continue
        if isinstance(field.default, bool | int | float | str):
            assert f"| `{field.name}` | `{json.dumps(field.default)}` |" in text
        else:
            assert f"`{field.name}`" in text or f"`[{field.name}" in text

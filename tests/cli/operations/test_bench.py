"""``bench`` against a real broker."""

import json
from collections.abc import Iterator

import pytest

from penstock.cli.main import status_of
from penstock.net.broker.config import broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess

SHORT = ["--seconds", "0.2", "--rate", "200"]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("bench")
    path = directory / "b.toml"
    write_config(
        path, broker_config(name="b", data_dir=str(directory / "data"), listen="127.0.0.1:0")
    )
    with BrokerProcess(path, directory / "b.log") as broker:
        host, port = broker.address
        yield f"penstock://{host}:{port}"


def test_json_output(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["bench", "--url", url, "--json", *SHORT]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    figures = json.loads(line)
    assert figures["throughput_msgs_per_s"] > 0
    assert 0 < figures["p50_ms"] <= figures["p99_ms"] <= figures["p999_ms"]


def test_text_output(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert status_of(["bench", "--url", url, *SHORT]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert "messages/s of 100 bytes" in first
    assert "at 200 messages/s: p50" in second


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        (["--size", "3"], 2, "--size"),
        (["--deadline", "0"], 2, "--deadline"),
        (["--pubend", "nowhere"], 1, "nowhere"),
    ],
)
def test_invalid_options_are_reported_in_one_line(
    url: str, given: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(["bench", "--url", url, *SHORT, *given]) == status
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1


def test_an_unreachable_broker_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    away = "penstock://127.0.0.1:1"
    assert status_of(["bench", "--url", away, "--deadline", "0.2"]) == 1
    (told,) = capsys.readouterr().err.splitlines()
    assert "127.0.0.1:1" in told

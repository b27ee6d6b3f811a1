"""``penstock land`` as its user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars
import pytest

from penstock.cli.main import status_of
from penstock.client.blocking import client as blocking
from penstock.net.process import BrokerProcess, free_port

pytestmark = pytest.mark.xdist_group("spark")

COMMAND = (sys.executable, "-c", "from penstock.cli.main import run; run()", "land")
PATIENCE_S = 300.0


def penstock_land(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_messages_become_rows_that_are_listed_and_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "b.toml"
    config.write_text(
        f'name = "b"\nlisten = "127.0.0.1:{free_port()}"\n'
        f'data_dir = "{tmp_path / "data"}"\npubends = ["b.1"]\n'
    )
    table = str(tmp_path / "quotes")
    with BrokerProcess(config, tmp_path / "b.log") as broker:
        url = "penstock://{}:{}".format(*broker.address)
        with blocking.connect(url) as client:
            client.publish({"symbol": "ACME", "price": 7}, b"p")
            client.publish({"symbol": "HOOLI", "price": 8.5}, b"p")
        arguments = ("symbol = 'ACME'", "--table", table, "--url", url, "--once")
        done = penstock_land(*arguments, "--columns", "price double")
        assert done.returncode == 0, done.stderr
        assert "new columns: symbol" in done.stdout
        assert f"1 messages written; {table} holds 1" in done.stdout
        other = penstock_land("symbol = 'HOOLI'", *arguments[1:])
        assert other.returncode == 2
        assert "holds what the selector \"symbol = 'ACME'\" chose" in other.stderr
    (row,) = polars.scan_delta(table).collect().to_dicts()
    assert (row["symbol"], row["price"], row["payload"]) == ("ACME", 7.0, b"p")

    assert status_of(["land", "versions", "--table", table, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["what"] for each in listed[:1]] == ["landed batch 0"]
    assert listed[0]["last_ticks"] == {"b.1": row["tick"]}
    assert status_of(["land", "versions", "--table", table]) == 0
    assert "landed batch 0" in capsys.readouterr().out
    assert status_of(["land", "versions", "--table", table, "--at", "2001-01-01"]) == 0
    assert int(capsys.readouterr().out) < listed[0]["version"]
    assert status_of(["land", "compact", "--table", table]) == 0
    assert "0 files in 0 days were merged" in capsys.readouterr().out
    assert status_of(["land", "drop", "--table", table, "--before", "2100-01-01"]) == 0
    assert "1 messages in 1 files dropped" in capsys.readouterr().out
    assert polars.scan_delta(table).collect().is_empty()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a =", "--table", "t", "--url", "penstock://127.0.0.1:1"], "invalid selector"),
        (["--table", "t", "--url", "http://x"], "'http://x' is not the address of a broker"),
        (["--table", "t", "--every", "0"], "--every must be greater than 0"),
        (["versions", "--table", "t"], "t: there is no table"),
        (["drop", "--table", "t", "--before", "2026-01-31"], "t: there is no table"),
        (
            ["--table", "t", "--url", "penstock://127.0.0.1:1", "--columns", "price text"],
            "'price text' is not a column name with a type",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert status_of(["land", *arguments]) == 2
    shown = capsys.readouterr()
    assert told in shown.err
    assert shown.err.count("\n") == 1

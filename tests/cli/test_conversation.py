"""``pub``, ``sub`` and ``explain`` against a real broker, as separate processes."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import blocking as penstock_blocking
from penstock.net.broker.config import broker_config
from penstock.net.broker.config_file import write_config
from penstock.net.process import BrokerProcess

COMMAND = [sys.executable, "-c", "from penstock.cli.main import run; run()"]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "b.toml"
    write_config(
        path, broker_config(name="b", data_dir=str(tmp_path / "data"), listen="127.0.0.1:0")
    )
    with BrokerProcess(path, tmp_path / "b.log") as broker:
        host, port = broker.address
        yield f"penstock://{host}:{port}"


def penstock(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], input=given, capture_output=True, text=True, timeout=60, check=False
    )


def test_published_messages_are_printed(url: str) -> None:
    lines = [
        json.dumps({"attributes": {"symbol": "ACME", "price": price}, "payload": f"at {price}"})
        for price in (99.0, 101.5, 250.0)
    ]
    done = penstock("pub", "--url", url, "--json", given="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    receipts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(receipts) == 3
    assert all(receipt["pubend"] for receipt in receipts)

    one = penstock("pub", "--url", url, "--attr", "symbol=ACME", "--attr", "price:int=7", "cheap")
    assert one.returncode == 0, one.stderr

    selector = "symbol = 'ACME' AND price > 100"
    found = penstock("sub", selector, "--url", url, "--start", "earliest", "--count", "2", "--json")
    assert found.returncode == 0, found.stderr
    messages = [json.loads(line) for line in found.stdout.splitlines()]
    assert [message["attributes"]["price"] for message in messages] == [101.5, 250.0]
    assert messages[0]["payload"] == "at 101.5"


def test_a_durable_subscription_continues_where_it_stopped(url: str) -> None:
    wish = ["sub", "--url", url, "--durable", "d", "--start", "earliest", "--json", "--count", "1"]
    for payload in ("one", "two"):
        assert penstock("pub", "--url", url, payload).returncode == 0
    seen = [json.loads(penstock(*wish).stdout)["payload"] for _ in range(2)]
    assert seen == ["one", "two"]


def test_an_invalid_line_is_named(url: str) -> None:
    done = penstock("pub", "--url", url, given='{"payload": "good"}\n{"payloud": "bad"}\n')
    assert done.returncode == 2
    assert "2" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_subscription_ends_after_its_time_limit(url: str) -> None:
    done = penstock("sub", "--url", url, "--for", "0.5")
    assert done.returncode == 0, done.stderr
    assert not done.stdout


def test_why_explains_a_connected_subscription(url: str) -> None:
    nobody = penstock("why", "mine", "--url", url)
    assert nobody.returncode != 0
    assert "knows no 'mine'" in nobody.stderr

    with penstock_blocking.connect(url) as client, client.subscribe(durable="mine"):
        told = penstock("why", "mine", "--url", url)
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith("mine (client/")
        assert "nothing holds it up" in told.stdout
        (reader,) = json.loads(penstock("why", "mine", "--url", url, "--json").stdout)["readers"]
        assert reader["slow"] is False


def test_sinks_are_listed_and_deleted(url: str) -> None:
    with penstock_blocking.connect(url) as client:
        for name in ("hourly totals", "daily totals"):
            client.sink(name, pubend="b.1").commit(3, {})
        client.sink("scratch", pubend="b.1", once=True).commit(0, {})
    listed = penstock("sinks", "--url", url)
    assert listed.returncode == 0, listed.stderr
    assert listed.stdout.index("hourly totals") < listed.stdout.index("daily totals")
    assert "2 of at most 10000 (sink_limit)" in listed.stdout
    found = json.loads(penstock("sinks", "--url", url, "--json").stdout)["sinks"]
    assert [(each["name"], each["pubend"], each["epoch"]) for each in found] == [
        ("hourly totals", "b.1", 3),
        ("daily totals", "b.1", 3),
    ]

    assert penstock("sinks", "--url", url, "--delete", "daily totals").returncode == 0
    again = penstock("sinks", "--url", url, "--delete", "daily totals")
    assert again.returncode == 1
    assert "knows no sink 'daily totals': hourly totals" in again.stderr
    assert penstock("sinks", "--url", url, "--delete-unused-for", "1d").stdout == ""
    retired = penstock("sinks", "--url", url, "--delete-unused-for", "0s")
    assert retired.stdout == "deleted 'hourly totals'\n"
    assert penstock("sinks", "--url", url, "--delete-unused-for", "soon").returncode == 1


def test_durable_subscriptions_are_listed_explained_and_deleted(url: str) -> None:
    with penstock_blocking.connect(url) as client, client.subscribe("n > 1", durable="away"):
        pass
    listed = penstock("subscriptions", "--url", url)
    assert listed.returncode == 0, listed.stderr
    assert "away" in listed.stdout
    assert "none for" in listed.stdout
    found = json.loads(penstock("subscriptions", "--url", url, "--json").stdout)
    (away,) = [each for each in found if each["name"] == "away"]
    assert away["selector"] == "n > 1"
    assert away["holds_logs"] is True
    assert "without a reader for" in penstock("why", "away", "--url", url).stdout
    assert "durable subscription 'away'" in penstock("why", "b.1", "--url", url).stdout

    assert penstock("subscriptions", "--url", url, "--delete", "away").returncode == 0
    again = penstock("subscriptions", "--url", url, "--delete", "away")
    assert again.returncode == 1
    assert "no durable subscription 'away'" in again.stderr

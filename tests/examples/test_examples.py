"""Every example runs against a real broker, as a user would run it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.net.process import BrokerProcess, free_port

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("broker")
    config = directory / "broker.toml"
    address = f"127.0.0.1:{free_port()}"
    config.write_text(f'name = "a"\nlisten = "{address}"\ndata_dir = "{directory / "data"}"\n')
    with BrokerProcess(config, directory / "broker.log"):
        yield f"penstock://{address}"


def run(url: str, name: str, *arguments: str) -> list[str]:
    """The output of an example; its standard error is shown if it fails."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments],
        env={**os.environ, "PENSTOCK_URL": url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        "durable_worker.py",
        "quickstart.py",
        "replay.py",
        "spark_windows.py",  # tests/spark/test_example.py
        "test_billing.py",
    }


def test_quickstart(url: str) -> None:
    lines = run(url, "quickstart.py")
    assert [line.split(" at ")[0] for line in lines] == [
        "published ACME",
        "published IBEX",
        "published GLOBEX",
        "received ACME",
        "received IBEX",
    ]


def test_durable_worker_continues_where_it_stopped(url: str) -> None:
    expected = [f"billed order {number}: {10 * number}" for number in range(7)]
    assert run(url, "durable_worker.py", "7") == expected
    assert run(url, "durable_worker.py", "7") == expected


def test_replay(url: str) -> None:
    assert run(url, "replay.py")[-1] == "1000 in all"
    assert run(url, "replay.py", "topic = 'replayed' AND number < 10")[-1] == "10 in all"


def test_billing() -> None:
    """It needs no broker: it brings its own."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", str(EXAMPLES / "test_billing.py")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout

"""``penstock workers`` with real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from penstock import blocking
from penstock.net.process import BrokerProcess

COMMAND = [sys.executable, "-c", "from penstock.cli.main import run; run()"]
PATIENCE_S = 60.0

WORKER = """
import os, signal, sys, time
from penstock import blocking
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
queue = os.environ["PENSTOCK_QUEUE"]
with blocking.connect() as client, client.queues.receive(queue, prefetch=2) as receiver:
    for message in receiver:
        time.sleep(0.05)
        message.ack()
        receiver.flush()
"""


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    path = tmp_path / "b.toml"
    data_dir = tmp_path / "data"
    path.write_text(
        f'name = "b"\ndata_dir = "{data_dir}"\nlisten = "127.0.0.1:0"\n\n[queues.jobs]\n'
    )
    with BrokerProcess(path, tmp_path / "b.log") as broker:
        host, port = broker.address
        yield f"penstock://{host}:{port}"


def until(holds: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, f"{what} within {PATIENCE_S} s"
        time.sleep(0.1)


@contextmanager
def following(script: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """``penstock workers`` with at most two processes of ``WORKER``; killed if a test fails."""
    script.write_text(WORKER)
    with subprocess.Popen(
        [*COMMAND, "workers", *arguments, "--command", f"exec {sys.executable} {script}",
         "--min", "0", "--max", "2", "--start-s", "0.5", "--quiet-s", "1"],
        stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


def ended(process: subprocess.Popen[str]) -> str:
    """Stops it as an operator does; returns what it said."""
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in said
    return said


def test_processes_work_off_a_backlog_and_are_stopped(url: str, tmp_path: Path) -> None:
    with (
        following(tmp_path / "worker.py", "jobs", "--url", url) as process,
        blocking.connect(url) as client,
    ):

        def consumers() -> int:
            return int(client.queues.status("jobs")[0]["consumers"])

        sender = client.queues.sender("jobs")
        for _ in range(300):
            sender.send({}, b"job")
        sender.flush()
        until(lambda: consumers() == 2, "two workers")
        until(lambda: client.queues.status("jobs")[0]["messages"] == 0, "all is done")
        until(lambda: consumers() == 0, "no workers")
        assert "jobs: workers: 0 before, 1 now" in ended(process)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A broker ``home`` with an alias queue ``orders``, and ``east`` and ``west`` with queues."""
    urls = {}
    with ExitStack() as stack:
        peers = ""
        for name, more in (
            ("east", "[queues.jobs]\n[neighbours.home]\n"),
            ("west", "[queues.jobs]\n[neighbours.home]\n"),
            ("home", '[aliases.orders]\ndestinations = ["jobs@east", "jobs@west"]\n'),
        ):
            path = tmp_path / f"{name}.toml"
            links = peers if name == "home" else ""
            path.write_text(
                f'name = "{name}"\ndata_dir = "{tmp_path / name}"\nlisten = "127.0.0.1:0"\n'
                f"{links}\n{more}"
            )
            broker = stack.enter_context(BrokerProcess(path, tmp_path / f"{name}.log"))
            host, port = broker.address
            urls[name] = f"penstock://{host}:{port}"
            peers += f'[neighbours.{name}]\naddress = "{host}:{port}"\n'
        yield urls


def test_a_backlog_behind_an_alias_queue_at_another_broker_starts_workers(
    sites: dict[str, str], tmp_path: Path
) -> None:
    at_east = ("--url", sites["east"], "--alias-url", sites["home"])
    with blocking.connect(sites["home"]) as home, blocking.connect(sites["east"]) as east:

        def consumers() -> int:
            return int(east.queues.status("jobs")[0]["consumers"])

        for number in range(100):
            home.queues.send("orders", {"n": number}, b"job")
        assert home.queues.status("orders")[0]["waiting"] == 100, "nobody can take them"
        with following(tmp_path / "worker.py", "jobs", "--alias", "orders", *at_east) as process:
            until(lambda: consumers() > 0, "a worker")
            until(lambda: east.queues.status("jobs")[0]["consumed_messages"] == 100, "all is done")
            assert home.queues.status("orders")[0]["messages"] == 0
            until(lambda: consumers() == 0, "no workers")
            assert "jobs@east: workers: 0 before, 1 now" in ended(process)


def refused(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [*COMMAND, "workers", *arguments, "--command", "true"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, " ".join(done.stderr.split())


def test_impossible_bounds_are_refused() -> None:
    status, said = refused("jobs", "--min", "3", "--max", "2")
    assert status == 2
    assert "--min 3 --max 2" in said


def test_the_broker_of_no_alias_queue_is_refused() -> None:
    status, said = refused("jobs", "--alias-url", "penstock://127.0.0.1:1")
    assert status == 2
    assert "name it with --alias" in said


def test_what_the_alias_queue_does_not_lead_to_is_refused(sites: dict[str, str]) -> None:
    at_east = ("--url", sites["east"], "--alias-url", sites["home"])
    wrong = {
        ("orders", "--url", sites["home"]): "'orders' is an alias queue",
        ("jobs", "--alias", "orders", "--url", sites["home"]): "has no queue 'jobs'",
        ("jobs", "--alias", "other", *at_east): "has no queue 'other'",
        ("jobs@west", "--alias", "orders", *at_east): "is not at the broker 'east'",
        ("dead-letters", "--alias", "orders", *at_east): (
            "'dead-letters@east' is not a destination of 'orders'"
        ),
        ("jobs", "--alias", "jobs", "--url", sites["east"]): "is a queue, not an alias queue",
    }
    for arguments, problem in wrong.items():
        status, said = refused(*arguments)
        assert (status, problem in said) == (1, True), said

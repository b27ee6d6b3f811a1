"""``penstock workers`` with real processes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
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


def test_processes_work_off_a_backlog_and_are_stopped(url: str, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    options = ["--min", "0", "--max", "2", "--start-s", "0.5", "--quiet-s", "1"]
    process = subprocess.Popen(
        [*COMMAND, "workers", "jobs", "--command", f"exec {sys.executable} {script}", "--url", url,
         *options], stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        with blocking.connect(url) as client:

            def consumers() -> int:
                return int(client.queues.status("jobs")[0]["consumers"])

            sender = client.queues.sender("jobs")
            for _ in range(300):
                sender.send({}, b"job")
            sender.flush()
            until(lambda: consumers() == 2, "two workers")
            until(lambda: client.queues.status("jobs")[0]["messages"] == 0, "all is done")
            until(lambda: consumers() == 0, "no workers")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.wait()
    assert "jobs: workers: 0 before, 1 now" in said
    assert "Traceback" not in said


def test_impossible_bounds_are_refused() -> None:
    done = subprocess.run(
        [*COMMAND, "workers", "jobs", "--command", "true", "--min", "3", "--max", "2"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--min 3 --max 2" in done.stderr

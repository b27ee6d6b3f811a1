import json
import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("up")
"""One at a time: brokers of two overlays could choose the same free port."""

COMMAND = [sys.executable, "-c", "from penstock.cli.main import run; run()", "up", "--no-spark"]


def test_up_stops_after_a_time_and_prints_a_summary() -> None:
    done = subprocess.run(
        [*COMMAND, "--for", "2", "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["published"] > 0
    assert summary["delivered"] > 0
    assert 0 < summary["selected"] < summary["delivered"]


def test_an_interrupt_stops_it_cleanly() -> None:
    """At a terminal, where the live view runs."""
    screen, terminal = os.openpty()
    with subprocess.Popen(
        COMMAND,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_interrupts,
    ) as process:
        os.close(terminal)
        shown = b""
        while b"Ctrl-C stops everything" not in shown:
            try:
                shown += os.read(screen, 65536)
            except OSError:
                assert process.stderr is not None
                pytest.fail(f"it ended by itself: {process.stderr.read()}")
        process.send_signal(signal.SIGINT)
        drain(screen)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def heed_interrupts() -> None:
    """Undo the shell's setting that background jobs and their children ignore interrupts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def drain(screen: int) -> None:
    """Read until the last process closes the terminal (Linux reports this as an error)."""
    try:
        while os.read(screen, 65536):
            pass
    except OSError:
        os.close(screen)

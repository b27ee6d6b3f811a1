import json
import os
import signal
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from penstock.cli.main import run; run()", "up", "--no-spark"]


def test_up_runs_for_a_while_and_says_what_happened() -> None:
    done = subprocess.run(
        [*COMMAND, "--for", "2", "--json"], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["published"] > 0
    assert summary["delivered"] > 0
    assert 0 < summary["selected"] < summary["delivered"]


def test_an_interrupt_stops_it_cleanly() -> None:
    """At a terminal, where the live view is."""
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
            shown += os.read(screen, 65536)
        process.send_signal(signal.SIGINT)
        drain(screen)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors


def heed_interrupts() -> None:
    """A shell has its background jobs ignore interrupts, and their children with them."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def drain(screen: int) -> None:
    """Read until the last process that has the terminal open is gone (which Linux tells so)."""
    try:
        while os.read(screen, 65536):
            pass
    except OSError:
        os.close(screen)

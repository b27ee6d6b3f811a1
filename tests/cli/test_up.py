import json
import signal
import subprocess
import sys

COMMAND = [sys.executable, "-c", "from penstock.cli.main import run; run()", "up"]


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
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    for line in process.stdout:
        if "Ctrl-C stops everything" in line:
            break
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "Traceback" not in errors

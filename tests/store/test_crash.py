"""A real process that writes as fast as it can is killed; what it was told is durable, is there."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.store.disk import DiskStore, StoreOptions

WRITER = """
import os, sys
from pathlib import Path
from queue import SimpleQueue
from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import StoreOverloaded

commits = SimpleQueue()

def report(commit):
    assert not commit.failed, commit.failed
    commits.put(commit)
    os.write(1, b"".join(b"%d\\n" % token for token in commit.durable))

options = StoreOptions(segment_bytes=int(sys.argv[2]), max_pending_bytes=2_000_000)
store = DiskStore(Path(sys.argv[1]), report, options)
token = store.bounds("prices").end_high
while True:
    try:
        data = [b"%d," % token, b"x" * (token * 37 % 2000)]
        store.append(token, "prices", token, token + 1, data)
        token += 1
        if token % 50 == 0:
            store.set_state(-token, {"written": b"%d" % token})
        if token % 500 == 0:
            store.trim("prices", token - 400)
    except StoreOverloaded:
        commits.get()
"""


def run_and_kill(directory: Path, segment_bytes: int, acknowledgements: int) -> set[int]:
    """Let the writer run until it has been told enough, kill it, and give what it was told."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(directory), str(segment_bytes)], stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    with writer:
        lines = [writer.stdout.readline() for _ in range(acknowledgements)]
        writer.kill()
        lines += writer.stdout.read().splitlines(keepends=True)
    return {int(line) for line in lines if line.endswith(b"\n")}


@pytest.mark.parametrize("segment_bytes", [1 << 16, 1 << 24])
def test_every_acknowledged_record_survives_kill_9(
    tmp_path: Path, outcomes: Any, segment_bytes: int
) -> None:
    written = 0
    for acknowledgements in (1, 700, 3000):
        acknowledged = run_and_kill(tmp_path, segment_bytes, acknowledgements)
        assert acknowledged, "the writer was told nothing"
        options = StoreOptions(segment_bytes=segment_bytes, verify="all")
        with DiskStore(tmp_path, outcomes(), options) as store:
            bounds = store.bounds("prices")
            found = store.read("prices", 0, 2**62, 2**40).records
            assert [record.low for record in found] == list(
                range(bounds.first_low, bounds.end_high)
            )
            for record in found:
                expected = b"%d," % record.low + b"x" * (record.low * 37 % 2000)
                assert bytes(record.data) == expected
            assert bounds.end_high > max(acknowledged)
            changes = [-token for token in acknowledged if token < 0]
            saved = int(store.load_state().get("written", b"0"))
            assert saved >= max(changes, default=0)
            assert saved <= bounds.end_high
            assert bounds.end_high > written
            written = bounds.end_high

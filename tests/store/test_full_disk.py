"""Real full disks: a file system of one megabyte, and a limit on the size of files."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FILL = """
import json, resource, sys
from pathlib import Path
from queue import SimpleQueue
from penstock.store.disk import DiskStore, StoreOptions

directory, segment_bytes, limit = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
commits = SimpleQueue()
store = DiskStore(directory, commits.put, StoreOptions(segment_bytes=segment_bytes))

def commit(token, low, size):
    store.append(token, "prices", low, low + 1, [bytes([low % 256]) * size])
    return commits.get()

def limit_files(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

report = {"durable": 0}
report["first"] = len(commit(0, 0, 3000).durable)
if limit:
    limit_files(limit)
tick = 1
while not (outcome := commit(tick, tick, 3000)).failed:
    tick += 1
(failure,) = outcome.failed
report["durable"] = tick
report["reason"] = failure.reason
report["retriable"] = failure.retriable
report["behind"] = len(commit(tick + 1, tick + 1, 10).failed)
store.resume_after(failure)
(failure,) = commit(tick, tick, 3000).failed
report["still_full"] = failure.token == tick
report["readable"] = len(store.read("prices", 0, 2**62, 2**40).records)

if limit:
    limit_files(resource.RLIM_INFINITY)
else:
    store.trim("prices", tick // 2)
    store.set_state(-1, {"trimmed": b"yes"})
    report["state"] = len(commits.get().durable)
store.resume_after(failure)
report["afterwards"] = len(commit(tick, tick, 3000).durable)
store.close()

with DiskStore(directory, commits.put, StoreOptions(segment_bytes, verify="all")) as store:
    records = store.read("prices", 0, 2**62, 2**40).records
    report["whole"] = all(bytes(r.data) == bytes([r.low % 256]) * 3000 for r in records)
    report["lows"] = [r.low for r in records]
    report["end_high"] = store.bounds("prices").end_high
print(json.dumps(report))
"""


def run(directory: Path, *, segment_bytes: int, file_size_limit: int = 0) -> dict[str, Any]:
    program = [sys.executable, "-c", FILL, str(directory), str(segment_bytes)]
    ended = subprocess.run([*program, str(file_size_limit)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert isinstance(report, dict)
    return report


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path | None]:
    """A file system of one megabyte, or None where only root may mount one and we are not."""
    directory = tmp_path / "small"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "penstock-test", str(directory)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        yield None
        return
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


def check_refused_and_recovered(report: dict[str, Any], first_low: int = 0) -> None:
    assert report["first"] == 1
    assert report["retriable"]
    assert report["behind"] == 1
    assert report["still_full"]
    assert report["readable"] == report["durable"]
    assert report["afterwards"] == 1
    assert report["whole"]
    assert report["lows"] == list(range(first_low, report["durable"] + 1))
    assert report["end_high"] == report["durable"] + 1


def test_a_full_file_system_refuses_and_goes_on_when_space_returns(
    tmp_path: Path, small_disk: Path | None
) -> None:
    if small_disk is None:
        report = run(tmp_path / "limited", segment_bytes=65_536, file_size_limit=50_000)
        check_refused_and_recovered(report)
        return
    report = run(small_disk / "store", segment_bytes=200_000)
    assert "No space left on device" in report["reason"]
    assert report["state"] == 1
    # Smaller and smaller segments have used nearly all of the megabyte.
    assert report["durable"] * 3000 > 800_000
    check_refused_and_recovered(report, first_low=report["durable"] // 2)


def test_a_write_that_stops_short_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    """The limit cuts a record in the middle of a segment that was allocated before."""
    report = run(tmp_path / "limited", segment_bytes=65_536, file_size_limit=50_000)
    assert "File too large" in report["reason"]
    # (50,000 - 4096) / 3040 bytes: the sixteenth record does not fit.
    assert report["durable"] == 15
    check_refused_and_recovered(report)

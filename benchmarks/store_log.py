"""The throughput of the disk store, and the cost of a sync.

Each workload keeps the store full for a fixed time: the producer appends until the store reports
overload, and continues after the next commit.  Figures are for committed records, that is, after
``fdatasync``.  The directory is temporary; ``TMPDIR`` chooses the disk.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from queue import SimpleQueue
from statistics import median, quantiles

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit
from penstock.store.segments.framing import framed_bytes

WORKLOAD_S = 1.5
SYNC_SAMPLES = 200

BATCH_BYTES = 60_000
"""About 512 rows of 100 bytes with their columns."""
SINGLE_BYTES = 400
KEPT_BYTES = 64_000_000


def measure_syncs(directory: Path, size_bytes: int) -> list[float]:
    """The time of a write and ``fdatasync`` in an allocated file, in seconds, one at a time."""
    descriptor = os.open(directory / "sync", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, 64 * 1024 * 1024)
    block = os.urandom(size_bytes)
    taken_s = []
    for number in range(SYNC_SAMPLES):
        begun = time.perf_counter()
        os.pwrite(descriptor, block, number * size_bytes)
        os.fdatasync(descriptor)
        taken_s.append(time.perf_counter() - begun)
    os.close(descriptor)
    return taken_s


def measure_append(directory: Path, size_bytes: int, in_flight: int) -> str:
    """Keep at most ``in_flight`` records pending; records and bytes per second, and latency."""
    commits: SimpleQueue[Commit] = SimpleQueue()
    options = StoreOptions(max_pending_bytes=max(framed_bytes(size_bytes) * in_flight, 1))
    data = [os.urandom(size_bytes)]
    latencies_s: list[float] = []
    appended_at: dict[int, float] = {}
    token = done = 0
    kept = KEPT_BYTES // size_bytes
    with DiskStore(directory, commits.put, options) as store:
        begun = time.perf_counter()
        end = begun + WORKLOAD_S
        while (now := time.perf_counter()) < end or done < token:
            if now < end and token - done < in_flight:
                if token % 64 == 0:
                    appended_at[token] = now
                store.append(token, "prices", token, token + 1, data)
                token += 1
                if token % kept == 0:
                    # Trim like a broker whose subscribers keep up, so that segments are recycled.
                    store.trim("prices", token - kept)
                continue
            commit = commits.get()
            if commit.failed:
                raise SystemExit(f"the store failed: {commit.failed[0].reason}")
            heard = time.perf_counter()
            done += len(commit.durable)
            latencies_s.extend(
                heard - appended_at.pop(finished)
                for finished in commit.durable
                if finished in appended_at
            )
        taken_s = time.perf_counter() - begun
        commits_done = store.counters.commits
    return (
        f"{done / taken_s:>10,.0f} records/s {done * size_bytes / taken_s / 1e6:>7,.0f} MB/s "
        f"{done / commits_done:>8,.1f} records a commit  "
        f"p50 {median(latencies_s) * 1e3:6.2f} ms  "
        f"p99 {quantiles(latencies_s, n=100)[98] * 1e3:6.2f} ms"
    )


def main() -> None:
    """Print one line for each measurement."""
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        for size_bytes in (SINGLE_BYTES, BATCH_BYTES):
            taken_s = measure_syncs(Path(directory), size_bytes)
            print(
                f"write + fdatasync of {size_bytes:>6,} B: p50 {median(taken_s) * 1e3:.2f} ms, "
                f"p99 {quantiles(taken_s, n=100)[98] * 1e3:.2f} ms"
            )
        for size_bytes in (BATCH_BYTES, SINGLE_BYTES):
            for in_flight in (1, 64, 50_000_000 // size_bytes):
                where = Path(directory) / f"{size_bytes}-{in_flight}"
                line = measure_append(where, size_bytes, in_flight)
                print(f"{size_bytes:>6,} B, {in_flight:>7,} in flight: {line}")


if __name__ == "__main__":
    main()

"""What the tests of the store share: a listener for commits, and shorthand for records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Condition
from typing import Any

import pytest

from penstock.store.interface import Commit, Failure
from penstock.store.orders import Append
from penstock.store.segments.framing import framed_bytes
from penstock.store.segments.log import SegmentLog
from penstock.store.segments.spares import SparePool

PATIENCE_S = 60  # only a hung store waits this long


class Outcomes:
    """An ``on_commit`` that remembers, and that a test can wait for."""

    def __init__(self) -> None:
        self.commits: list[Commit] = []
        self._heard = Condition()

    def __call__(self, commit: Commit) -> None:
        with self._heard:
            self.commits.append(commit)
            self._heard.notify_all()

    @property
    def durable(self) -> list[int]:
        return [token for commit in self.commits for token in commit.durable]

    @property
    def failures(self) -> dict[int, Failure]:
        return {failure.token: failure for commit in self.commits for failure in commit.failed}

    def wait_for(self, tokens: Iterable[int]) -> None:
        wanted = set(tokens)
        with self._heard:
            done = self._heard.wait_for(
                lambda: wanted <= {*self.durable, *self.failures}, timeout=PATIENCE_S
            )
        assert done, f"the store never reported {wanted - {*self.durable, *self.failures}}"


class LogDirectory:
    """A log that is opened again and again, driven without a thread."""

    def __init__(self, directory: Path, *, segment_bytes: int = 1 << 16, spares: int = 2) -> None:
        self.directory = directory
        self.segment_bytes = segment_bytes
        self.spares = SparePool(directory / "spare", segment_bytes=segment_bytes, limit=spares)

    def open(self, **options: Any) -> SegmentLog:
        return SegmentLog(
            self.directory / "log",
            "prices",
            segment_bytes=self.segment_bytes,
            spares=self.spares,
            **options,
        )

    def segments(self) -> list[Path]:
        return sorted((self.directory / "log").glob("*.segment"))


def make_append(
    low: int, data: bytes | Sequence[bytes], *, high: int | None = None, epoch: int = 0
) -> Append:
    """A record at one tick, whose token is the tick."""
    chunks = [data] if isinstance(data, bytes) else data
    length = sum(map(len, chunks))
    end = low + 1 if high is None else high
    return Append(low, "prices", epoch, low, end, chunks, length, framed_bytes(length))


def contents(log: SegmentLog) -> list[tuple[int, bytes]]:
    """All that a log holds, as (low, data)."""
    found = log.read(0, 2**63 - 1, 2**40)
    return [(record.low, bytes(record.data)) for record in found.records]


@pytest.fixture(scope="session")
def outcomes() -> type[Outcomes]:
    return Outcomes


@pytest.fixture(scope="session")
def log_directory() -> type[LogDirectory]:
    return LogDirectory


@pytest.fixture(scope="session")
def record() -> Any:
    return make_append


@pytest.fixture(scope="session")
def everything() -> Any:
    return contents

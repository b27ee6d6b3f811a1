"""Both stores against one plain list: random appends, reads, trims and reopenings."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.faulty import MemoryStore
from penstock.store.interface import Commit, LogStore

LOG = "prices"


class LogMachine(RuleBasedStateMachine):
    """The model is a list of (low, high, data), the tick of the trim, and a dictionary."""

    def open(self) -> LogStore[Any, Any]:
        raise NotImplementedError

    def reopen(self) -> None:
        raise NotImplementedError

    def settle(self) -> None:
        raise NotImplementedError

    def encode(self, data: bytes) -> Any:
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        self.records: list[tuple[int, int, bytes]] = []
        self.first_low = 0
        self.state: dict[str, bytes] = {}
        self.token = 0
        self.store = self.open()

    @property
    def end_high(self) -> int:
        return self.records[-1][1] if self.records else 0

    @rule(
        shapes=st.lists(
            st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 3000)), max_size=8
        )
    )
    def append(self, shapes: list[tuple[int, int, int]]) -> None:
        for gap, width, size in shapes:
            low = self.end_high + gap
            self.token += 1
            data = bytes([self.token % 256]) * size
            self.records.append((low, low + width, data))
            self.store.append(self.token, LOG, low, low + width, self.encode(data))
        self.settle()

    @rule(key=st.sampled_from("abc"), value=st.none() | st.binary(max_size=3))
    def set_state(self, key: str, value: bytes | None) -> None:
        self.token += 1
        self.store.set_state(self.token, {key: value})
        self.settle()
        self.state.pop(key, None)
        if value is not None:
            self.state[key] = value
        assert self.store.load_state() == self.state

    @rule(
        low=st.integers(0, 120),
        width=st.integers(0, 60),
        max_bytes=st.integers(0, 20_000),
        max_records=st.integers(0, 4),
    )
    def read(self, low: int, width: int, max_bytes: int, max_records: int) -> None:
        high = low + width
        part = self.store.read(LOG, low, high, max_bytes, max_records)
        complete_from = max(low, self.first_low)
        touching = [
            (at, end, data)
            for at, end, data in self.records
            if complete_from < high and at < high and end > complete_from
        ]
        found = [(record.low, record.high, bytes(record.data)) for record in part.records]
        assert found == touching[: len(found)]
        assert len(found) >= min(len(touching), 1)
        assert len(found) <= 1 or sum(len(data) for _, _, data in found) <= max_bytes
        assert len(found) <= max_records or not max_records
        assert part.complete_from == complete_from
        if len(found) < len(touching):
            assert part.complete_to == touching[len(found)][0]
        else:
            assert part.complete_to == max(low, min(high, self.end_high))

    @rule(below=st.integers(0, 140))
    def trim(self, below: int) -> None:
        self.store.trim(LOG, below)
        self.first_low = max(self.first_low, min(below, self.end_high))

    @precondition(lambda self: self.records)
    @rule()
    def bounds(self) -> None:
        bounds = self.store.bounds(LOG)
        assert (bounds.first_low, bounds.end_high) == (self.first_low, self.end_high)

    @rule()
    def open_again(self) -> None:
        self.reopen()
        assert self.store.load_state() == self.state


class DiskMachine(LogMachine):
    """A store on disk with segments of a few records, so that it rolls, drops and recycles."""

    def open(self) -> LogStore[Any, Any]:
        self.directory = TemporaryDirectory()
        self.commits: SimpleQueue[Commit] = SimpleQueue()
        self.reported = 0
        return self.open_disk()

    def open_disk(self) -> DiskStore:
        options = StoreOptions(segment_bytes=16_384, verify="all")
        return DiskStore(Path(self.directory.name), self.commits.put, options)

    def reopen(self) -> None:
        self.store.close()
        self.store = self.open_disk()

    def settle(self) -> None:
        while self.reported < self.token:
            commit = self.commits.get()
            assert commit.failed == []
            self.reported += len(commit.durable)

    def encode(self, data: bytes) -> Any:
        return [data[:1], memoryview(data)[1:]]

    def teardown(self) -> None:
        self.store.close()
        self.directory.cleanup()


class MemoryMachine(LogMachine):
    """The store in memory."""

    def open(self) -> LogStore[Any, Any]:
        self.memory: MemoryStore[bytes] = MemoryStore(len)
        return self.memory

    def reopen(self) -> None:
        self.settle()

    def settle(self) -> None:
        self.memory.sync()

    def encode(self, data: bytes) -> Any:
        return data


TestDisk = DiskMachine.TestCase
TestDisk.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestMemory = MemoryMachine.TestCase
TestMemory.settings = settings(max_examples=100, stateful_step_count=30, deadline=None)

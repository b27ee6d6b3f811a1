from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.core.machine import (
    Fact,
    LogRead,
    Persist,
    Persisted,
    PersistFailed,
    PersistState,
    ReadLog,
    TrimLog,
)
from penstock.net.broker import durability as durability_module
from penstock.net.broker.durability import Durability
from penstock.services.guaranteed.messages import LogEntry
from penstock.store.disk import StoreOptions
from penstock.store.interface import StoreInUse

PATIENCE_S = 60
LOG = "pubend/p"
SMALL = StoreOptions(segment_bytes=1 << 16, max_pending_bytes=1 << 20)


def entry(low: int, payload: bytes = b"payload") -> LogEntry:
    batch = Batch.from_rows([({"n": low}, payload)])
    return LogEntry("producer", low, Frame(low, low + 10, range(low, low + 1), batch))


class Disk:
    """A durability that remembers its facts."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._changed = asyncio.Event()
        self.durability = Durability(self._hear)

    def _hear(self, facts: list[Fact]) -> None:
        self.facts += facts
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def heard(self, fact: Fact) -> None:
        await self.until(lambda: fact in self.facts)


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[Disk]:
    made = Disk()
    await made.durability.open(tmp_path / "store", SMALL)
    yield made
    await made.durability.close()


async def test_what_was_persisted_is_read_back(disk: Disk) -> None:
    entries = [entry(low) for low in (100, 110, 130)]
    for token, each in enumerate(entries, 1):
        disk.durability.persist(Persist(token, LOG, each))
    await disk.heard(Persisted(3))
    assert disk.facts == [Persisted(1), Persisted(2), Persisted(3)]

    disk.durability.read(ReadLog(4, LOG, 105, 140, 1 << 20))

    await disk.until(lambda: len(disk.facts) == 4)
    answer = disk.facts[3]
    assert isinstance(answer, LogRead)
    assert answer.token == 4
    assert [(each.producer, each.frame) for each in answer.frames] == [
        ("producer", each.frame) for each in entries
    ]
    assert answer.complete_to == 140
    assert disk.durability.logs() == {LOG: (100, 140, disk.durability.logs()[LOG][2])}


async def test_many_reads_are_all_answered_in_order(disk: Disk) -> None:
    disk.durability.persist(Persist(1, LOG, entry(100)))
    await disk.heard(Persisted(1))

    for token in range(2, 30):
        disk.durability.read(ReadLog(token, LOG, 100, 110, 1 << 20))

    await disk.until(lambda: len(disk.facts) == 29)
    assert [fact.token for fact in disk.facts] == list(range(1, 30))


async def test_reads_of_the_past_rest_and_are_all_answered_in_order(disk: Disk) -> None:
    for token, low in ((1, 100), (2, 110)):
        disk.durability.persist(Persist(token, LOG, entry(low)))
    await disk.heard(Persisted(2))

    for token in range(3, 20):
        most_frames = token % 3
        disk.durability.read(ReadLog(token, LOG, 100, 120, 1 << 20, most_frames))

    await disk.until(lambda: len(disk.facts) == 19)
    answers = [fact for fact in disk.facts if isinstance(fact, LogRead)]
    assert [answer.token for answer in answers] == list(range(3, 20))
    assert [len(answer.frames) for answer in answers] == [token % 3 or 2 for token in range(3, 20)]


async def test_state_is_saved(disk: Disk, tmp_path: Path) -> None:
    disk.durability.persist_state(PersistState(1, {"a": b"1", "b": b"2"}))
    disk.durability.persist_state(PersistState(2, {"a": None}))
    await disk.heard(Persisted(2))

    assert disk.durability.saved() == {"b": b"2"}


async def test_the_drivers_own_values_are_no_facts_of_the_machine(disk: Disk) -> None:
    await disk.durability.save({"own": b"value"})

    assert disk.durability.saved() == {"own": b"value"}
    assert disk.facts == []


async def test_saving_nothing_waits_for_everything_before_it(disk: Disk) -> None:
    disk.durability.persist(Persist(1, LOG, entry(100)))
    await disk.durability.save({})

    assert disk.facts == [Persisted(1)]


async def test_what_the_store_refuses_fails_after_the_call(disk: Disk) -> None:
    disk.durability.persist(Persist(1, LOG, entry(100, bytes(1 << 17))))
    assert disk.facts == []

    await disk.until(lambda: len(disk.facts) == 1)
    refusal = disk.facts[0]
    assert isinstance(refusal, PersistFailed)
    assert refusal.token == 1
    assert "does not fit into a segment" in refusal.reason
    disk.durability.persist(Persist(2, LOG, entry(200)))
    await disk.heard(Persisted(2))


async def test_a_trimmed_log_begins_later(disk: Disk) -> None:
    for token in range(1, 40):
        disk.durability.persist(Persist(token, LOG, entry(token * 10, bytes(10_000))))
    await disk.heard(Persisted(39))

    disk.durability.trim(TrimLog(LOG, 300))

    assert disk.durability.logs()[LOG][0] == 300


async def test_a_damaged_record_is_said_and_answered_as_lost(
    disk: Disk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk.durability.persist(Persist(1, LOG, entry(100, b"x" * 5000)))
    await disk.heard(Persisted(1))
    (segment,) = (tmp_path / "store" / "logs").rglob("*.segment")
    data = bytearray(segment.read_bytes())
    data[data.index(b"xxxx")] ^= 1
    segment.write_bytes(data)

    disk.durability.read(ReadLog(2, LOG, 100, 110, 1 << 20))

    await disk.heard(LogRead(2, (), 110, 100, ((100, 110),)))
    assert "is damaged" in caplog.text
    (problem,) = disk.durability.problems()
    assert "'pubend/p' is damaged: [100, 110) is lost" in problem


async def test_a_record_that_cannot_be_understood_is_lost(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    store = disk.durability._store
    store.append(1, LOG, 100, 110, [b"no entry of a log"])
    await disk.heard(Persisted(1))

    disk.durability.read(ReadLog(2, LOG, 100, 110, 1 << 20))

    await disk.heard(LogRead(2, (), 110, 100, ((100, 110),)))
    assert "cannot be understood" in caplog.text


async def test_a_read_that_fails_is_tried_again(
    disk: Disk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(durability_module, "FAILED_READ_PAUSE_S", 0.0)

    def fail(*_: object) -> None:
        raise OSError("no descriptor is left")

    monkeypatch.setattr(disk.durability._store, "read", fail)
    disk.durability.read(ReadLog(2, LOG, 100, 110, 1 << 20))

    await disk.heard(LogRead(2, (), 100))
    assert "no descriptor is left" in caplog.text


async def test_a_store_belongs_to_one_broker(disk: Disk, tmp_path: Path) -> None:
    second = Disk()

    with pytest.raises(StoreInUse):
        await second.durability.open(tmp_path / "store", SMALL)
    await second.durability.close()


async def test_small_orders_count_by_their_number(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flood of them would fill the memory long before their bytes fill the store."""
    monkeypatch.setattr(durability_module, "MOST_UNANSWERED", 4)
    disk.durability.persist(Persist(1, LOG, entry(100)))
    disk.durability.persist_state(PersistState(2, {"key": b"value"}))
    assert disk.durability.load == 0.5

    await disk.heard(Persisted(2))
    assert disk.durability.load == 0.0

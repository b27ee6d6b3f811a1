"""Readers in other threads, while records arrive, segments are trimmed and files recycled."""

from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import Commit

RECORDS = 4000
KEPT = 60


def data_of(tick: int) -> bytes:
    return b"%d," % tick * (tick % 90)


class Reader(Thread):
    """Reads the whole log again and again, and checks every slice."""

    def __init__(self, store: DiskStore, stop: Event) -> None:
        super().__init__()
        self.store = store
        self.stop = stop
        self.slices = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stop.is_set():
                self.check_slice()
                self.slices += 1
        except BaseException as error:
            self.error = error

    def check_slice(self) -> None:
        part = self.store.read("prices", 0, 2**62, 20_000)
        expected = range(part.complete_from, part.complete_to)
        assert [record.low for record in part.records] == list(expected)
        for record in part.records:
            assert bytes(record.data) == data_of(record.low)


def test_readers_see_whole_durable_slices_whatever_happens_around_them(tmp_path: Path) -> None:
    commits: SimpleQueue[Commit] = SimpleQueue()
    stop = Event()
    with DiskStore(tmp_path, commits.put, StoreOptions(segment_bytes=8192)) as store:
        readers = [Reader(store, stop) for _ in range(2)]
        for reader in readers:
            reader.start()
        for first in range(0, RECORDS, 20):
            for tick in range(first, first + 20):
                store.append(tick, "prices", tick, tick + 1, [data_of(tick)])
            done = 0
            while done < 20:
                commit = commits.get()
                assert commit.failed == []
                done += len(commit.durable)
            store.trim("prices", first - KEPT)
        stop.set()
        for reader in readers:
            reader.join()
            assert reader.error is None
            assert reader.slices > 0

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.store.disk import DiskStore, StoreOptions
from penstock.store.interface import (
    CorruptLog,
    LogBounds,
    OutOfOrder,
    RecordTooLarge,
    StoreError,
    StoreInUse,
)

SMALL = StoreOptions(segment_bytes=8192)


def write(store: DiskStore, heard: Any, log: str, ticks: range) -> None:
    for tick in ticks:
        store.append(tick, log, tick, tick + 1, [b"x" * 1000])
    heard.wait_for(ticks)


def test_logs_state_and_trims_are_there_after_opening_again(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    with DiskStore(tmp_path, heard, SMALL) as store:
        write(store, heard, "prices", range(20))
        write(store, heard, "trades", range(20, 25))
        store.set_state(99, {"cursor": b"7"})
        store.trim("prices", 11)
        assert store.bounds("prices").first_low == 11
    with DiskStore(tmp_path, outcomes(), SMALL) as store:
        assert store.log_names() == ["prices", "trades"]
        assert store.load_state() == {"cursor": b"7"}
        assert store.bounds("prices").first_low == 11
        assert store.bounds("prices").end_high == 20
        prices = store.read("prices", 0, 100, 10**6)
        assert [found.low for found in prices.records] == list(range(11, 20))
        assert (prices.complete_from, prices.complete_to) == (11, 20)
        assert store.bounds("trades").end_high == 25
        with pytest.raises(OutOfOrder, match="log 'prices' ends at 20"):
            store.append(1, "prices", 19, 20, [b"x"])


def test_a_trim_is_saved_while_the_store_is_idle(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    store = DiskStore(tmp_path, heard, SMALL)
    write(store, heard, "prices", range(20))
    store.trim("prices", 11)
    store.set_state(100, {})
    heard.wait_for([100])
    # The change was ordered behind the trim, so it carried the trim with it.
    assert store._state.trims() == {"prices": 11}
    store.close()


def test_an_unknown_log_is_empty(tmp_path: Path, outcomes: Any) -> None:
    with DiskStore(tmp_path, outcomes()) as store:
        assert store.bounds("nothing") == LogBounds(0, 0, 0)
        part = store.read("nothing", 5, 10, 100)
        assert (part.records, part.complete_from, part.complete_to) == ([], 5, 5)
        store.trim("nothing", 5)
        assert store.log_names() == []


@pytest.mark.parametrize("name", ["a/b", "..", ".", "ünï cödé", "%2E", "a%2Fb", "x" * 255])
def test_any_name_will_do_for_a_log(tmp_path: Path, outcomes: Any, name: str) -> None:
    heard = outcomes()
    with DiskStore(tmp_path, heard, SMALL) as store:
        write(store, heard, name, range(1))
    with DiskStore(tmp_path, outcomes(), SMALL) as store:
        assert store.log_names() == [name]
        assert store.bounds(name).end_high == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "lock",
        "logs",
        "spare",
        "state.sqlite3",
    ]


@pytest.mark.parametrize("name", ["", "x" * 256, "/" * 86])
def test_a_name_that_makes_no_directory_is_refused(
    tmp_path: Path, outcomes: Any, name: str
) -> None:
    with DiskStore(tmp_path, outcomes(), SMALL) as store:
        with pytest.raises(StoreError, match="a log cannot be named"):
            store.append(1, name, 0, 1, [b"x"])
        assert store.log_names() == []


def test_records_must_go_forward_and_fit(tmp_path: Path, outcomes: Any) -> None:
    with DiskStore(tmp_path, outcomes(), SMALL) as store:
        store.append(1, "prices", 5, 10, [b"x"])
        for low, high in ((9, 11), (10, 10), (12, 11), (-1, 3), (10, 2**63)):
            with pytest.raises(OutOfOrder, match=r"log 'prices' ends at 10"):
                store.append(2, "prices", low, high, [b"x"])
        largest = 8192 - 4096 - 3 * 40
        with pytest.raises(RecordTooLarge, match="raise segment_bytes"):
            store.append(2, "prices", 10, 11, [bytes(largest), b"x"])
        store.append(2, "prices", 10, 11, [bytes(largest)])


def test_a_store_is_open_in_one_process_only(tmp_path: Path, outcomes: Any) -> None:
    program = (
        "import sys; from pathlib import Path; from penstock.store.disk import DiskStore\n"
        "DiskStore(Path(sys.argv[1]), print)"
    )
    with DiskStore(tmp_path, outcomes()):
        with pytest.raises(StoreInUse, match="is open in another process"):
            DiskStore(tmp_path, outcomes())
        other = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True
        )
        assert "StoreInUse" in other.stderr
    DiskStore(tmp_path, outcomes()).close()


def test_a_store_that_cannot_be_opened_lets_go_of_everything(tmp_path: Path, outcomes: Any) -> None:
    heard = outcomes()
    with DiskStore(tmp_path, heard, SMALL) as store:
        write(store, heard, "prices", range(3))
    (segment,) = (tmp_path / "logs" / "prices").iterdir()
    whole = segment.read_bytes()
    segment.write_bytes(b"x" + whole[1:])
    with pytest.raises(CorruptLog):
        DiskStore(tmp_path, outcomes(), SMALL)
    segment.write_bytes(whole)
    with DiskStore(tmp_path, outcomes(), SMALL) as store:
        assert store.bounds("prices").end_high == 3


@pytest.mark.parametrize("segment_bytes", [0, 4096, 2**32])
def test_a_segment_size_that_the_format_cannot_hold_is_refused(segment_bytes: int) -> None:
    with pytest.raises(ValueError, match=f"segment_bytes is {segment_bytes}; it must be above"):
        StoreOptions(segment_bytes=segment_bytes)


def test_closing_twice_is_harmless(tmp_path: Path, outcomes: Any) -> None:
    store = DiskStore(tmp_path, outcomes())
    store.close()
    store.close()

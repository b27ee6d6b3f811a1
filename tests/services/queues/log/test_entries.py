"""The unsettled rows of a queue."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.services.queues.log.entries import Entries, Entry


def entry_of(low: int, count: int, *, stored: bool = True) -> Entry:
    batch = Batch.from_rows([({}, b"x" * 100)] * count)
    frame = Frame(low, low + count, range(low, low + count), batch)
    return Entry(frame, origin="o", first_sequence=0, priority=4, expires_at=0, stored=stored)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_entries_go_when_their_last_row_is_settled(counts, random):
    entries, low, lows = Entries(10**9), 1, []
    for count in counts:
        entries.add(entry_of(low, count))
        lows += range(low, low + count)
        low += count + 1
    random.shuffle(lows)
    left = set(lows)
    for position in lows:
        assert entries.settle(position, position + 1) == 1
        left.discard(position)
        assert entries.rows == len(left)
        for each in left:
            assert entries.find(each) is not None
    assert entries.lowest is None
    assert entries.bytes == entries.loaded_bytes == 0


def test_bodies_beyond_the_bound_are_dropped_and_loaded_again():
    entries = Entries(1000)
    for low in (1, 11, 21):
        entries.add(entry_of(low, 10))
    assert [entries.find(low).frame is None for low in (1, 11, 21)] == [True, True, True]
    body = entry_of(11, 10).frame
    entries.load(body)
    assert entries.find(15).frame is body


def test_a_body_that_is_not_in_the_journal_is_kept():
    entries = Entries(10)
    entries.add(entry_of(1, 10, stored=False))
    assert entries.find(1).frame is not None


def test_the_entries_of_an_interval_are_those_that_touch_it():
    entries = Entries(10**9)
    for low in (1, 5, 9):
        entries.add(entry_of(low, 3))
    assert [entry.low for entry in entries.within(3, 9)] == [1, 5]
    assert [entry.low for entry in entries.within(4, 5)] == []
    assert entries.find(4) is None
    assert entries.lowest == 1

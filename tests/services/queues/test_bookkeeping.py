"""The small structures that everything stands on, against naive models."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.services.queues.log.entries import Entries, Entry
from penstock.services.queues.parameters import (
    AliasConfig,
    QueueConfig,
    check_configuration,
    split_address,
)
from penstock.services.queues.queue.busy_clock import BusyClock
from penstock.services.queues.queue.prepared import Doubt
from penstock.services.queues.queue.ready import ReadyRows


def _entry(low: int, count: int) -> Entry:
    batch = Batch.from_rows([({}, b"x" * 100)] * count)
    frame = Frame(low, low + count, range(low, low + count), batch)
    return Entry(frame, origin="o", first_sequence=0, priority=4, expires_at=0)


@given(st.lists(st.integers(1, 8), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_entries_go_when_their_last_row_is_settled(counts, random):
    entries, low, lows = Entries(10**9), 1, []
    for count in counts:
        entries.add(_entry(low, count))
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


def test_bodies_beyond_the_bound_are_let_go_and_loaded_again():
    entries = Entries(1000)
    for low in (1, 11, 21):
        entries.add(_entry(low, 10))
    assert entries.find(1) is not None
    assert [entries.find(low).frame is None for low in (1, 11, 21)] == [True, True, True]
    body = _entry(11, 10).frame
    entries.load(body)
    assert entries.find(15).frame is body


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_rows_leave_doubt_once_wherever_they_stand(counts, random):
    doubt, position, sequence, places = Doubt(), 1000, 0, {}
    for count in counts:
        doubt.add(("b", "q"), sequence, sequence + count, position)
        places.update({sequence + each: position + each for each in range(count)})
        sequence += count + 1
        position += count
    while places:
        low = random.randrange(sequence)
        high = low + random.randrange(1, 5)
        taken = [at for first, end in doubt.take(("b", "q"), low, high) for at in range(first, end)]
        assert sorted(taken) == sorted(places.pop(n) for n in range(low, high) if n in places)
        assert doubt.rows == len(places)
        held = {n for first, end in doubt.intervals(("b", "q")) for n in range(first, end)}
        assert held == places.keys()
    assert doubt.aliases() == []


def test_the_most_urgent_rows_are_first():
    ready = ReadyRows()
    ready.add(4, 1, 5)
    ready.add(9, 7, 9)
    assert ready.first() == (7, 9)
    ready.remove(9, 7, 9)
    assert ready.first() == (1, 5)
    assert ready.count == 4


def test_a_busy_clock_counts_only_busy_time():
    clock = BusyClock(0)
    clock.set(True, 10)
    clock.set(True, 20)
    assert clock.total_ns(30) == 20
    clock.set(False, 40)
    assert clock.total_ns(100) == 30


def test_addresses_and_configurations_are_checked():
    assert split_address("work@east") == ("work", "east")
    with pytest.raises(ValueError, match="not of the form queue@broker"):
        split_address("work")
    with pytest.raises(ValueError, match="share this name"):
        check_configuration((QueueConfig("a"),), (AliasConfig("a", ("b@c",)),))
    with pytest.raises(ValueError, match="is not a queue of the same broker"):
        check_configuration((QueueConfig("a", dead_letter_queue="nowhere"),), ())
    with pytest.raises(ValueError, match="has no destinations"):
        check_configuration((), (AliasConfig("a", ()),))

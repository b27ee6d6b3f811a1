"""Prepared rows, against a naive model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.intervals import IntervalSet
from penstock.services.queues.queue.prepared import PreparedRows

ALIAS = ("home", "orders")


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_each_row_is_taken_once_wherever_it_is_stored(counts, random):
    prepared, position, sequence, places = PreparedRows(), 1000, 0, {}
    for count in counts:
        prepared.add(ALIAS, sequence, sequence + count, position)
        places.update({sequence + each: position + each for each in range(count)})
        sequence += count + 1
        position += count
    while places:
        low = random.randrange(sequence)
        high = low + random.randrange(1, 5)
        taken = [at for first, end in prepared.take(ALIAS, low, high) for at in range(first, end)]
        assert sorted(taken) == sorted(places.pop(n) for n in range(low, high) if n in places)
        assert prepared.rows == len(places)
        held = {n for first, end in prepared.intervals(ALIAS) for n in range(first, end)}
        assert held == places.keys()
    assert prepared.aliases() == []


def test_alias_queues_are_kept_apart():
    prepared = PreparedRows()
    prepared.add(ALIAS, 1, 4, 10)
    prepared.add(("far", "orders"), 1, 4, 20)
    assert prepared.take(ALIAS, 2, 3) == [(11, 12)]
    assert prepared.intervals(("far", "orders")) == ((1, 4),)
    assert prepared.within(ALIAS, IntervalSet([(0, 10)])) == ((1, 2), (3, 4))
    assert prepared.take(("nowhere", "q"), 0, 9) == []

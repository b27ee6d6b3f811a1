"""Waiting rows by priority, against a naive model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.queues.queue.ready import ReadyRows


def test_the_highest_priority_is_first():
    ready = ReadyRows()
    ready.add(4, 1, 5)
    ready.add(9, 7, 9)
    assert ready.first() == (7, 9)
    ready.remove(9, 7, 9)
    assert ready.first() == (1, 5)
    assert ready.count == 4
    assert ready.within(4, 3, 100) == [(3, 5)]
    assert [priority for priority, _ in ready.levels()] == [4]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=30))
def test_rows_come_out_by_priority_and_position(rows):
    ready, model = ReadyRows(), set()
    for priority, position in rows:
        if all(position != each for _, each in model):
            ready.add(priority, position, position + 1)
            model.add((-priority, position))
    out = []
    while (first := ready.first()) is not None:
        low = first[0]
        priority = next(level for level, rows in ready.levels() if low in rows)
        ready.remove(priority, low, low + 1)
        out.append((-priority, low))
    assert out == sorted(model)
    assert ready.count == 0

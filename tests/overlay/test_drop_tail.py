"""The best-effort queue of a link."""

from __future__ import annotations

import pytest

from penstock.overlay.drop_tail import DropTail


def test_the_order_is_kept_and_the_newest_is_dropped() -> None:
    queue: DropTail[str] = DropTail(2)
    assert [queue.offer(each, 10) for each in "abc"] == [True, True, False]
    assert queue.next_size_bytes() == 10
    assert [queue.take()[0] for _ in range(2)] == ["a", "b"]
    assert (queue.dropped_messages, queue.high_water_messages, len(queue)) == (1, 2, 0)


def test_flushing_forgets_everything() -> None:
    queue: DropTail[str] = DropTail()
    queue.offer("a", 1)
    assert queue.flush() == 1
    assert not queue


def test_a_queue_holds_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        DropTail(0)

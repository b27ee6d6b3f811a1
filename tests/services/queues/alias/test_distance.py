"""The distance of a destination."""

from __future__ import annotations

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.queues.alias.distance import Distance


def test_a_destination_is_as_far_as_its_quickest_answer() -> None:
    distance = Distance()
    assert distance.least_ns is None
    assert not distance.is_within(SECOND)
    for taken_ms in (40, 3, 90):
        distance.measured(taken_ms * MILLISECOND, SECOND)
    assert distance.least_ns == 3 * MILLISECOND
    assert distance.is_within(3 * MILLISECOND)
    assert not distance.is_within(2 * MILLISECOND)


def test_a_destination_that_moved_away_is_noticed_after_two_windows() -> None:
    distance = Distance()
    distance.measured(3 * MILLISECOND, 0)
    for second in range(10, 30, 5):
        distance.measured(80 * MILLISECOND, second * SECOND)
        near = distance.is_within(25 * MILLISECOND)
        assert near == (second < 20), f"at {second} s"

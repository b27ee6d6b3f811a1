"""The delay of a dense flow without a queue."""

from __future__ import annotations

from random import Random

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.floor import DelayFloor

BLOCK_NS = 25 * MILLISECOND


def fed(
    floor: DelayFloor, gap: Duration, queue: Duration, begin: Instant, duration: Duration
) -> None:
    """Messages in order behind 4 ms of jitter and a queue."""
    random = Random(1)
    left = now = begin
    while now < begin + duration:
        now += gap
        left = max(left, now + random.randrange(4 * MILLISECOND))
        floor.arrived(left - now + queue, left)


def test_messages_that_wait_for_the_slowest_have_a_floor_above_the_quickest() -> None:
    floor = DelayFloor(BLOCK_NS, 60 * SECOND)
    fed(floor, MILLISECOND // 2, 0, SECOND, SECOND)
    assert floor.least_ns is not None
    assert 0 < floor.least_ns < 4 * MILLISECOND


def test_a_queue_is_no_part_of_it_once_it_has_been_drained() -> None:
    floor, calm = (DelayFloor(BLOCK_NS, 60 * SECOND) for _ in range(2))
    fed(calm, MILLISECOND // 2, 0, SECOND, SECOND)
    fed(floor, MILLISECOND // 2, 20 * MILLISECOND, SECOND, SECOND)
    assert floor.least_ns is not None
    assert floor.least_ns >= 20 * MILLISECOND
    fed(floor, MILLISECOND // 2, 0, 2 * SECOND, SECOND)
    fed(floor, MILLISECOND // 2, 20 * MILLISECOND, 3 * SECOND, SECOND)
    assert calm.least_ns is not None
    assert floor.least_ns < 1.2 * calm.least_ns


def test_a_flow_that_is_not_dense_has_none() -> None:
    floor = DelayFloor(BLOCK_NS, 60 * SECOND)
    fed(floor, 5 * MILLISECOND, 0, SECOND, SECOND)
    assert floor.least_ns is None


def test_nothing_is_known_after_the_clock_was_set() -> None:
    floor = DelayFloor(BLOCK_NS, 60 * SECOND)
    fed(floor, MILLISECOND // 2, 0, SECOND, SECOND)
    floor.reset()
    assert floor.least_ns is None

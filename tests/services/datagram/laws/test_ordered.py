"""Whether messages wait for the messages before them."""

from __future__ import annotations

from random import Random

from penstock.core.clock import MILLISECOND, SECOND, Duration
from penstock.services.datagram.laws.ordered import OrderedPath

JITTER_NS = 40 * MILLISECOND


def path_behind_jitter(gap: Duration, messages: int = 400) -> OrderedPath:
    """Messages in order behind 40 ms of jitter."""
    path, random, left = OrderedPath(), Random(3), 0
    for step in range(messages):
        sent = step * gap
        left = max(left, sent + random.randrange(JITTER_NS))
        path.arrived(left - sent, left)
    return path


def test_messages_of_a_dense_flow_wait_for_each_other() -> None:
    assert path_behind_jitter(5 * MILLISECOND).keeps_order


def test_messages_that_are_far_apart_wait_for_nobody() -> None:
    assert not path_behind_jitter(2 * JITTER_NS).keeps_order


def test_a_queue_that_drains_at_half_of_its_load_holds_nobody() -> None:
    path, gap = OrderedPath(), 10 * MILLISECOND
    for step in range(400):
        sent, arrival = step * gap, 4 * SECOND + step * gap // 2
        path.arrived(arrival - sent, arrival)
    assert not path.keeps_order


def test_a_clock_that_was_set_holds_nobody() -> None:
    path = OrderedPath()
    for step in range(400):
        path.clock_was_set()
        path.arrived(-step * SECOND, step * MILLISECOND)
    assert not path.keeps_order

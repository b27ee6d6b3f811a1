"""What a receiver knows of the queue on its path."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.queue_view import DEEP, ROOM_NS, Depth, QueueView

BEGIN = 64 * SECOND + 10 * MILLISECOND
GAP_NS = 10 * MILLISECOND


def view_of(queueing: Duration, offset: int = 0) -> tuple[QueueView, Instant]:
    """A view of a hundred messages a second of an empty queue, and then of this delay."""
    view, now = QueueView(), BEGIN
    for step in range(60):
        now += GAP_NS
        view.arrived([offset + (queueing if step > 20 else 0)], now)
    return view, now


@given(st.integers(-(10**18), 10**18))
@settings(deadline=None, max_examples=20)
def test_the_clocks_difference_does_not_matter(offset: int) -> None:
    view, _ = view_of(40 * MILLISECOND, offset)
    assert view.queueing_ns == 40 * MILLISECOND


def test_a_burst_is_no_standing_queue() -> None:
    view, now = view_of(0)
    view.arrived([50 * MILLISECOND], now + MILLISECOND)
    assert view.queueing_ns == 0


def test_the_room_is_the_longest_delay_once_something_was_lost() -> None:
    view, now = view_of(30 * MILLISECOND)
    assert view.room_ns(now) == ROOM_NS
    view.lost(now)
    view.arrived([30 * MILLISECOND], now)
    assert view.room_ns(now) == 30 * MILLISECOND
    assert view.doubted


def test_who_came_to_a_full_queue_knows_the_room_when_it_has_drained() -> None:
    view, now = QueueView(), BEGIN
    for delay in (80, 80, 80, 80, 0):
        now += 30 * MILLISECOND
        view.lost(now)
        view.arrived([delay * MILLISECOND], now)
    assert view.room_ns(now) == 80 * MILLISECOND


def test_a_clock_that_was_set_starts_the_delay_anew() -> None:
    view, now = view_of(40 * MILLISECOND)
    view.clock_was_set()
    view.arrived([3600 * SECOND], now)
    assert view.queueing_ns == 0


def jittered(queueing: Duration) -> tuple[float, int]:
    """The mean queue that 20 messages a second see behind 30 ms of jitter, and how often none."""
    view, random, now = QueueView(), Random(7), BEGIN
    seen, empty = [], 0
    for step in range(400):
        now += 50 * MILLISECOND
        late = queueing if step >= 200 else 0
        view.arrived([late + random.randrange(30 * MILLISECOND)], now)
        if step >= 200:
            seen.append(view.queueing_ns)
            empty += view.empty_at == now
    return sum(seen) / len(seen) / MILLISECOND, empty


def test_jitter_is_no_queue() -> None:
    queueing_ms, empty = jittered(0)
    assert queueing_ms < 6
    assert empty > 40


def test_a_queue_shows_behind_jitter() -> None:
    queueing_ms, empty = jittered(60 * MILLISECOND)
    assert 45 < queueing_ms < 70
    assert empty == 0


def ordered(queueing: Duration) -> tuple[float, int]:
    """The same for 200 messages a second that stay in order behind 40 ms of jitter."""
    view, random, left = QueueView(), Random(7), 0
    view.most_jitter_ns = 2 * MILLISECOND
    seen, empty = [], 0
    for step in range(2000):
        sent = BEGIN + step * 5 * MILLISECOND
        left = max(left, sent + random.randrange(40 * MILLISECOND))
        arrival = left + (queueing if step >= 1000 else 0)
        view.arrived([arrival - sent], arrival)
        if step >= 1000:
            seen.append(view.queueing_ns)
            empty += view.empty_at == arrival
    return sum(seen) / len(seen) / MILLISECOND, empty


def test_waiting_for_the_messages_before_is_no_queue() -> None:
    queueing_ms, empty = ordered(0)
    assert queueing_ms < 6
    assert empty > 50


def test_a_queue_shows_where_messages_wait_for_each_other_too() -> None:
    queueing_ms, empty = ordered(60 * MILLISECOND)
    assert 50 < queueing_ms < 70
    assert empty == 0


def test_a_queue_is_deep_once_a_delay_of_twice_the_room_was_seen() -> None:
    view, now = view_of(DEEP * ROOM_NS)
    assert view.depth(now) is Depth.USUAL
    view, now = view_of(DEEP * ROOM_NS + MILLISECOND)
    assert view.depth(now) is Depth.NEVER_FULL
    view.lost(now)
    view.arrived([DEEP * ROOM_NS + MILLISECOND], now + GAP_NS)
    assert view.depth(now + GAP_NS) is Depth.DEEP


def test_a_loss_in_a_short_queue_shows_that_it_is_not_deep() -> None:
    view, now = view_of(3 * ROOM_NS)
    for _ in range(4):
        now += 61 * SECOND
        view.lost(now)
        view.arrived([30 * MILLISECOND], now)
        view.arrived([0], now + GAP_NS)
    assert view.depth(now + GAP_NS) is Depth.USUAL

"""What a receiver knows of the queue on its path."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.queue_view import ROOM_NS, QueueView

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

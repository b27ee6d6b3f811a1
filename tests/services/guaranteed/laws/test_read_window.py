from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, MINUTE, SECOND
from penstock.services.guaranteed.laws.nack_window import NackAnswer
from penstock.services.guaranteed.laws.read_window import (
    FIRST_BYTES,
    FIRST_SPAN,
    LARGEST_SPAN,
    PIECES,
    SMALLEST_BYTES,
    SMALLEST_SPAN,
    TARGET,
    ReadWindow,
)

ANSWER_BYTES = 1 << 20


def answer_over(
    links: int, span: int, count: int, more: bool, round_trip: int | None, now: int
) -> NackAnswer:
    return NackAnswer(
        span, count, more, round_trip, now, links=links, round_trip_over_links=round_trip
    )


def answer_window(window: ReadWindow, round_trip: int, now: int, density: int = 1000) -> None:
    """A whole window's worth of answers, at ``density`` ticks a byte."""
    count = round(window.window_bytes) + 1
    window.answered(answer_over(0, count * density, count, False, round_trip, now))


def test_without_delay_it_opens_up_to_its_bound() -> None:
    window = ReadWindow(ANSWER_BYTES)
    sizes = []
    for step in range(100):
        answer_window(window, MILLISECOND, step)
        sizes.append(window.window_bytes)
    assert sizes == sorted(sizes)
    assert window.window_bytes == PIECES * ANSWER_BYTES


def test_beyond_the_delay_that_is_allowed_it_closes() -> None:
    window = ReadWindow(ANSWER_BYTES)
    for step in range(10):
        answer_window(window, MILLISECOND, step)
    opened = window.window_bytes
    answer_window(window, MILLISECOND + 2 * TARGET, 10)
    assert window.window_bytes < opened
    for step in range(50):
        answer_window(window, MILLISECOND + 2 * TARGET, 11 + step)
    assert window.window_bytes == SMALLEST_BYTES


def test_where_there_is_no_network_nothing_closes_it() -> None:
    window = ReadWindow(ANSWER_BYTES, paced=False)
    assert window.window_bytes == ANSWER_BYTES
    for step in range(20):
        answer_window(window, (1 + step) * TARGET, step)
    assert window.window_bytes == PIECES * ANSWER_BYTES


def test_answers_of_a_near_relay_do_not_make_those_of_the_source_look_late() -> None:
    window = ReadWindow(ANSWER_BYTES)
    for step in range(20):
        links, round_trip = (1, MILLISECOND) if step % 2 else (3, SECOND)
        opened = window.window_bytes
        count = round(opened) + 1
        window.answered(answer_over(links, count, count, False, round_trip, step))
        assert window.window_bytes > opened


def test_on_another_way_the_shortest_round_trip_is_measured_anew() -> None:
    window = ReadWindow(ANSWER_BYTES)
    answer_window(window, MILLISECOND, 0)
    window.path_changed()
    opened = window.window_bytes
    answer_window(window, 4 * TARGET, 1)
    assert window.window_bytes > opened


def test_at_the_delay_that_is_allowed_it_stays() -> None:
    window = ReadWindow(ANSWER_BYTES)
    answer_window(window, MILLISECOND, 0)
    opened = window.window_bytes
    answer_window(window, MILLISECOND + TARGET, 1)
    assert window.window_bytes == opened


def test_a_way_that_has_become_longer_is_believed_after_a_while() -> None:
    window = ReadWindow(ANSWER_BYTES)
    answer_window(window, MILLISECOND, 0)
    for at in (1, MINUTE, MINUTE + 1):
        answer_window(window, 4 * TARGET, at)
    closed = window.window_bytes
    answer_window(window, 4 * TARGET, 2 * MINUTE + 1)
    assert window.window_bytes > closed


def test_silence_is_asked_for_in_ever_larger_pieces() -> None:
    window = ReadWindow(ANSWER_BYTES)
    for _ in range(60):
        window.answered(NackAnswer(window.size_ns, 0, False, MILLISECOND, 0))
    assert window.size_ns == LARGEST_SPAN
    assert window.window_bytes == FIRST_BYTES


def test_a_dense_hour_behind_a_silent_one_closes_the_span_at_once() -> None:
    window = ReadWindow(ANSWER_BYTES)
    for _ in range(20):
        window.answered(NackAnswer(window.size_ns, 0, False, MILLISECOND, 0))
    window.answered(NackAnswer(SECOND, 1 << 20, True, MILLISECOND, 0))
    assert window.size_ns <= SECOND * FIRST_BYTES // (1 << 20) + 1
    assert window.piece_bytes <= window.window_bytes


@given(
    st.lists(
        st.tuples(
            st.integers(1, 100 * SECOND),
            st.integers(0, 1 << 21),
            st.booleans(),
            st.none() | st.integers(1, SECOND),
        )
    )
)
def test_its_bounds_hold_whatever_comes(answers: list[tuple[int, int, bool, int | None]]) -> None:
    window = ReadWindow(ANSWER_BYTES)
    assert window.size_ns == FIRST_SPAN
    for now, (span, count, more, round_trip) in enumerate(answers):
        window.answered(answer_over(0, span, count, more, round_trip, now * SECOND))
        assert SMALLEST_BYTES <= window.window_bytes <= PIECES * ANSWER_BYTES
        assert SMALLEST_SPAN <= window.size_ns <= LARGEST_SPAN
        assert window.piece_bytes > 0

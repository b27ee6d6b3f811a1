from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.mechanisms.rate_meter import (
    BUCKET,
    LONGEST_WINDOW_NS,
    REMEMBERED,
    REMEMBERED_MESSAGES,
    WINDOW_SECONDS,
    AdaptiveRateMeter,
    RateHistory,
    WindowRateMeter,
)

# -- WindowRateMeter -------------------------------------------------------------------------------


@given(rate=st.integers(0, 100_000), extra=st.integers(1, 30), began=st.integers(0, 100))
def test_a_window_meter_shows_a_constant_rate(rate: int, extra: int, began: int) -> None:
    meter = WindowRateMeter(began * SECOND)
    for second in range(began, began + WINDOW_SECONDS + extra):
        meter.add(rate, second * SECOND)
    assert meter.per_second(second * SECOND) == rate
    assert meter.total == rate * (WINDOW_SECONDS + extra)


def test_a_window_meter_forgets_what_is_older_than_its_window() -> None:
    meter = WindowRateMeter(0)
    for second in range(30):
        meter.add(100, second * SECOND)
    assert meter.per_second(29 * SECOND) == 100
    assert meter.per_second(60 * SECOND) == 0
    assert meter.total == 3000


@given(
    counts=st.lists(st.tuples(st.integers(0, 3 * SECOND), st.integers(0, 100)), max_size=40),
    after=st.integers(0, 5 * SECOND),
)
def test_a_window_meter_agrees_with_a_list_of_all_messages(
    counts: list[tuple[int, int]], after: int
) -> None:
    meter, now, all_counts = WindowRateMeter(0), 0, []
    for step, count in counts:
        now += step
        meter.add(count, now)
        all_counts.append((now // SECOND, count))
    now += after
    oldest = now // SECOND - WINDOW_SECONDS
    span_s = min(max(now / SECOND, 1.0), WINDOW_SECONDS)
    in_window = sum(count for second, count in all_counts if second > oldest)
    assert meter.per_second(now) == pytest.approx(in_window / span_s)


# -- AdaptiveRateMeter -----------------------------------------------------------------------------


@given(rate=st.integers(5, 5000))
def test_an_adaptive_meter_shows_a_constant_rate(rate: int) -> None:
    meter, now = AdaptiveRateMeter(0), 0
    for _ in range(min(5 * rate, 5000)):
        now += SECOND // rate
        meter.add(now)
    # Both ends of the window may fall on a message: one too many, of 10 in the sparsest window.
    assert meter.per_second(now) == pytest.approx(rate, rel=0.15)


def test_an_adaptive_meter_forgets_a_flow_that_stopped() -> None:
    meter = AdaptiveRateMeter(0)
    for at in range(100):
        meter.add(at * MILLISECOND)
    last = 99 * MILLISECOND
    assert meter.per_second(last + LONGEST_WINDOW_NS) > 0
    assert meter.per_second(last + LONGEST_WINDOW_NS + 1) == 0.0


@pytest.mark.parametrize("gap", [SECOND // 2, SECOND, 3 * SECOND, 10 * SECOND])
def test_an_adaptive_meter_has_no_bias_for_a_thin_flow(gap: int) -> None:
    meter = AdaptiveRateMeter(0)
    for number in range(1, 10):
        meter.add(number * gap)
    assert meter.per_second(9 * gap) == pytest.approx(
        SECOND / gap, rel=0.01 if gap > SECOND // 2 else 0.3
    )
    assert meter.per_second(9 * gap + gap // 2) <= SECOND / gap * 1.1
    assert 0 < meter.per_second(13 * gap) < 0.7 * SECOND / gap
    assert meter.per_second(9 * gap + 17 * gap + LONGEST_WINDOW_NS) == 0.0


def test_one_message_tells_an_adaptive_meter_no_high_rate() -> None:
    meter = AdaptiveRateMeter(0)
    meter.add(1)
    assert meter.per_second(1) <= 0.5


def test_what_an_adaptive_meter_remembers_is_bounded() -> None:
    meter = AdaptiveRateMeter(0)
    for _ in range(3 * REMEMBERED_MESSAGES):
        meter.add(1)
    assert meter.total == 3 * REMEMBERED_MESSAGES
    # The window begins a nanosecond late, after what was forgotten.
    assert meter.per_second(SECOND // 10) <= REMEMBERED_MESSAGES * 10 * 1.001


def test_a_rate_above_what_is_remembered_shortens_the_window_and_is_not_underestimated() -> None:
    meter = AdaptiveRateMeter(0)
    for number in range(20_000):
        meter.add(number * 10_000)
    assert meter.per_second(20_000 * 10_000) == pytest.approx(100_000, rel=0.01)


# -- RateHistory -----------------------------------------------------------------------------------

publications = st.lists(
    st.tuples(st.integers(0, 3 * SECOND), st.integers(1, 20)), min_size=1, max_size=40
)


def recorded(steps: list[tuple[int, int]]) -> tuple[RateHistory, list[tuple[int, int]]]:
    """A history, and beside it the bucket and the rows of every publication."""
    history, rows, tick = RateHistory(), [], 0
    for step, count in steps:
        tick += step
        history.add(tick, count)
        rows.append((tick // BUCKET, count))
    return history, rows


@given(steps=publications, low=st.integers(0, 60 * SECOND), span=st.integers(0, 60 * SECOND))
def test_the_counts_of_a_history_agree_with_a_list_of_all_rows(
    steps: list[tuple[int, int]], low: int, span: int
) -> None:
    history, rows = recorded(steps)
    first, end = low // BUCKET, (low + span) // BUCKET

    assert history.count_between(low, low + span) == sum(
        count for bucket, count in rows if first <= bucket < end
    )


@given(steps=publications, after=st.integers(0, 3 * SECOND))
def test_the_rate_of_a_history_is_what_the_last_ten_whole_buckets_hold(
    steps: list[tuple[int, int]], after: int
) -> None:
    history, rows = recorded(steps)
    now = sum(step for step, _ in steps) + after
    end = now // BUCKET

    assert history.rate(now) == sum(count for bucket, count in rows if end - 10 <= bucket < end)


@given(rate=st.integers(1, 500), at=st.integers(-SECOND, 30 * SECOND))
def test_the_density_of_an_even_stream_is_its_rate_everywhere(rate: int, at: Instant) -> None:
    """Before its beginning and after its end the nearest second stands for it."""
    history = RateHistory()
    for tick in range(10 * SECOND, 20 * SECOND, BUCKET):
        history.add(tick, rate)

    assert history.density(at) == pytest.approx(10 * rate)


def test_the_density_follows_the_stream() -> None:
    history = RateHistory()
    for tick in range(0, 20 * SECOND, BUCKET):
        history.add(tick, 40 if tick < 10 * SECOND else 5)

    assert history.density(5 * SECOND) == pytest.approx(400)
    assert history.density(15 * SECOND) == pytest.approx(50)


def test_an_empty_history_has_no_rate_and_no_density() -> None:
    history = RateHistory()

    assert history.rate(SECOND) == 0.0
    assert history.density(SECOND) == 0.0
    assert history.count_between(0, SECOND) == 0


def test_a_history_is_bounded_and_keeps_what_it_promises() -> None:
    history = RateHistory()
    buckets = 5 * REMEMBERED // BUCKET
    for bucket in range(buckets):
        history.add(bucket * BUCKET, 1)
    end = buckets * BUCKET

    assert len(history._buckets) <= 2 * REMEMBERED // BUCKET
    assert history.count_between(end - REMEMBERED + BUCKET, end) == REMEMBERED // BUCKET - 1
    assert history.density(0) == pytest.approx(SECOND / BUCKET)


def test_a_short_interval_counts_its_part_of_a_bucket() -> None:
    history = RateHistory()
    history.add(0, 10)
    history.add(3 * BUCKET, 30)

    assert history.count_within(0, BUCKET) == 10
    assert history.count_within(BUCKET // 4, BUCKET // 2) == 2.5
    assert history.count_within(BUCKET, 3 * BUCKET) == 0
    assert history.count_within(BUCKET // 2, 3 * BUCKET + BUCKET // 10) == 8
    assert history.count_within(5 * BUCKET, 9 * BUCKET) == 0

"""The publication history against a list of every row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.guaranteed.source.rate_meter import BUCKET, REMEMBERED, PublicationHistory

publications = st.lists(
    st.tuples(st.integers(0, 3 * SECOND), st.integers(1, 20)), min_size=1, max_size=40
)


def recorded(steps: list[tuple[int, int]]) -> tuple[PublicationHistory, list[tuple[int, int]]]:
    """A history, and beside it the bucket and the rows of every publication."""
    history, rows, tick = PublicationHistory(), [], 0
    for step, count in steps:
        tick += step
        history.published(tick, count)
        rows.append((tick // BUCKET, count))
    return history, rows


@given(steps=publications, low=st.integers(0, 60 * SECOND), span=st.integers(0, 60 * SECOND))
def test_counts_agree_with_a_list_of_all_rows(
    steps: list[tuple[int, int]], low: int, span: int
) -> None:
    history, rows = recorded(steps)
    first, end = low // BUCKET, (low + span) // BUCKET

    assert history.count_between(low, low + span) == sum(
        count for bucket, count in rows if first <= bucket < end
    )


@given(steps=publications, after=st.integers(0, 3 * SECOND))
def test_the_rate_is_what_the_last_ten_whole_buckets_hold(
    steps: list[tuple[int, int]], after: int
) -> None:
    history, rows = recorded(steps)
    now = sum(step for step, _ in steps) + after
    end = now // BUCKET

    assert history.rate(now) == sum(count for bucket, count in rows if end - 10 <= bucket < end)


@given(rate=st.integers(1, 500), at=st.integers(-SECOND, 30 * SECOND))
def test_the_density_of_an_even_stream_is_its_rate_everywhere(rate: int, at: int) -> None:
    """Before its beginning and after its end the nearest second stands for it."""
    history = PublicationHistory()
    for tick in range(10 * SECOND, 20 * SECOND, BUCKET):
        history.published(tick, rate)

    assert history.density(at) == pytest.approx(10 * rate)


def test_the_density_follows_the_stream() -> None:
    history = PublicationHistory()
    for tick in range(0, 20 * SECOND, BUCKET):
        history.published(tick, 40 if tick < 10 * SECOND else 5)

    assert history.density(5 * SECOND) == pytest.approx(400)
    assert history.density(15 * SECOND) == pytest.approx(50)


def test_nothing_published_has_no_rate_and_no_density() -> None:
    history = PublicationHistory()

    assert history.rate(SECOND) == 0.0
    assert history.density(SECOND) == 0.0
    assert history.count_between(0, SECOND) == 0


def test_the_record_is_bounded_and_keeps_what_it_promises() -> None:
    history = PublicationHistory()
    buckets = 5 * REMEMBERED // BUCKET
    for bucket in range(buckets):
        history.published(bucket * BUCKET, 1)
    end = buckets * BUCKET

    assert len(history._buckets) <= 2 * REMEMBERED // BUCKET
    assert history.count_between(end - REMEMBERED + BUCKET, end) == REMEMBERED // BUCKET - 1
    assert history.density(0) == pytest.approx(SECOND / BUCKET)

"""Loss intervals after RFC 5348, Section 5."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.datagram.subscriber.loss_history import WEIGHTS, LossHistory


def history_of(*intervals: int, first: float = 100.0) -> LossHistory:
    """A history with these closed intervals behind the first one, in order."""
    history, now = LossHistory(), SECOND
    history.lost(now, 1, first)
    for interval in intervals:
        for _ in range(interval):
            history.arrived()
        now += SECOND
        history.lost(now, 1, first)
    return history


def test_before_the_first_loss_there_is_no_rate() -> None:
    history = LossHistory()
    history.arrived()
    assert history.loss_event_rate() == 0.0
    assert history.last_event_at is None


def test_the_first_interval_is_what_the_caller_says() -> None:
    assert history_of(first=250.0).loss_event_rate() == 1 / 250


def test_losses_within_a_round_trip_are_one_event() -> None:
    history = LossHistory()
    assert history.lost(SECOND, SECOND, 10)
    assert not history.lost(2 * SECOND - 1, SECOND, 10)
    assert history.lost(2 * SECOND, SECOND, 10)
    assert history.events == 2


def test_the_last_eight_intervals_are_weighted() -> None:
    intervals = [10, 20, 30, 40, 50, 60, 70, 80]
    newest_first = list(reversed(intervals))
    expected = sum(a * b for a, b in zip(newest_first, WEIGHTS, strict=True)) / sum(WEIGHTS)
    assert history_of(*intervals).loss_event_rate() == 1 / expected


def test_a_long_open_interval_counts_at_once_and_a_short_one_does_not() -> None:
    history = history_of(*[10] * 8)
    assert history.loss_event_rate() == 1 / 10
    for _ in range(100):
        history.arrived()
    assert history.loss_event_rate() < 1 / 10


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20))
@settings(deadline=None)
def test_the_rate_is_within_the_intervals(intervals: list[int]) -> None:
    rate = history_of(*intervals, first=float(intervals[0])).loss_event_rate()
    assert 1 / max(intervals) <= rate + 1e-12
    assert rate <= 1 / min(intervals) + 1e-12


def test_a_history_begun_anew_has_one_interval_and_grows_from_there() -> None:
    history = LossHistory()
    for event in range(4):
        history.lost(event * SECOND, SECOND // 10, 10.0)
    history.begin_anew(200.0)
    assert history.loss_event_rate() == pytest.approx(1 / 200)
    for _ in range(400):
        history.arrived()
    assert history.loss_event_rate() == pytest.approx(1 / 300)

"""Capacity and the shares of the improved law."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.queues.laws.law import QueueView
from penstock.services.queues.laws.shares import balanced_shares, capacity


def test_capacity_is_what_was_consumed_while_there_was_something():
    assert capacity(500, 0.5, None) == 1000
    assert capacity(0, 0.0, 800.0) == 800.0


def test_shares_are_by_capacity_when_the_backlog_is_even():
    views = {"a": QueueView(1400, 700), "b": QueueView(600, 300)}
    assert balanced_shares(views, 2000, 1) == pytest.approx({"a": 0.7, "b": 0.3})


def test_backlog_moves_to_where_it_is_consumed_soonest():
    views = {"a": QueueView(1000, 1000), "b": QueueView(1000, 0)}
    shares = balanced_shares(views, 2000, 1)
    # 500 too many here and too few there, corrected over five seconds.
    assert shares == pytest.approx({"a": 0.45, "b": 0.55})


def test_two_alias_queues_correct_half_each():
    views = {"a": QueueView(1000, 1000, 2), "b": QueueView(1000, 0, 2)}
    assert balanced_shares(views, 1000, 1)["a"] == pytest.approx(0.45)


def test_a_queue_that_was_never_busy_counts_as_average():
    views = {"a": QueueView(1000, 0), "b": QueueView(3000, 0), "c": QueueView(None, 0)}
    shares = balanced_shares(views, 100, 1)
    assert shares["c"] == pytest.approx(2000 / 6000)


@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.builds(
            QueueView, st.none() | st.floats(0.1, 1e6), st.integers(0, 10**7), st.integers(0, 5)
        ),
        min_size=1,
    ),
    st.floats(0, 1e6),
    st.floats(0.1, 60),
)
def test_shares_always_sum_to_one(views, produced, period_s):
    shares = balanced_shares(views, produced, period_s)
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares.values()) >= 0

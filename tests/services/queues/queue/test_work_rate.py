"""How fast a consumer works, and its part of the unfinished messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.queues.queue.work_rate import WorkRate, fair_part


def test_only_the_time_with_messages_counts():
    rate = WorkRate()
    assert rate.msgs_per_s is None
    rate.begin(0)
    rate.settled(20, SECOND)
    rate.begin(100 * SECOND)
    rate.settled(20, 101 * SECOND)
    assert rate.msgs_per_s == pytest.approx(20)


def test_a_changed_speed_is_believed_after_some_seconds():
    rate = WorkRate()
    for second in range(1, 60):
        rate.settled(500 if second < 30 else 20, second * SECOND)
        if second == 29:
            assert rate.msgs_per_s == pytest.approx(500)
    assert rate.msgs_per_s == pytest.approx(20, rel=0.1)


def test_without_rates_everybody_may_have_everything():
    assert fair_part(100, None, 0.0, 0, 3) == 100


def test_an_unknown_consumer_counts_as_average():
    assert fair_part(100, None, 30.0, 1, 2) == 50


@given(
    st.integers(1, 10_000),
    st.lists(st.floats(0.01, 1e5) | st.none(), min_size=1, max_size=20),
)
def test_the_parts_cover_everything_and_none_is_empty(unfinished, rates):
    known = [each for each in rates if each is not None]
    parts = [fair_part(unfinished, each, sum(known), len(known), len(rates)) for each in rates]
    assert sum(parts) >= unfinished
    assert min(parts) >= 1

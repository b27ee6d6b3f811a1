"""Figure 3: tokens come at the rate, up to a bound."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.gossip.laws.token_bucket import TokenBucket


def test_a_token_is_there_exactly_when_it_was_announced() -> None:
    bucket = TokenBucket(10, 3.0, 0.0, now=0)
    assert not bucket.take(now=0)
    at = bucket.next_token()
    assert not bucket.take(now=at - 1000)
    assert bucket.take(now=bucket.next_token())


def test_the_bucket_does_not_overflow() -> None:
    bucket = TokenBucket(10, 5.0, 0.0, now=0)
    assert bucket.tokens(now=100 * SECOND) == 10


def test_a_change_of_rate_counts_from_its_instant() -> None:
    bucket = TokenBucket(10, 1.0, 0.0, now=0)
    bucket.set_rate(4.0, now=2 * SECOND)
    assert bucket.tokens(now=3 * SECOND) == 6


@given(st.floats(0.01, 1000), st.lists(st.integers(1, 10 * SECOND), max_size=40))
def test_never_more_is_taken_than_came(rate: float, steps: list[int]) -> None:
    bucket, now, taken = TokenBucket(10, rate, 5.0, now=0), 0, 0
    for step in steps:
        now += step
        while bucket.take(now=now):
            taken += 1
    assert taken <= 5 + rate * now / SECOND + 1e-6 * (1 + taken)

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.mechanisms.token_bucket import TokenBucket, TokenBuckets

FIXED = {"least_capacity": 10.0}
GROWING = {"least_capacity": 2.0, "depth_ns": 50 * MILLISECOND}
shapes = pytest.mark.parametrize("shape", [FIXED, GROWING], ids=["fixed", "growing"])


def make(
    rate: float, tokens: float = 0.0, *, least: float = 10.0, depth: Duration = 0
) -> TokenBucket:
    return TokenBucket(rate, tokens=tokens, least_capacity=least, depth_ns=depth, now=0)


def sent_by_a_greedy_sender(bucket: TokenBucket, begin: Instant, end: Instant) -> int:
    """How many messages leave when the sender wakes exactly when it is told to."""
    count, now = 0, begin
    while now <= end:
        while bucket.take_if_ready(now):
            count += 1
        now = max(now + 1, bucket.ready_at())
    return count


def test_a_token_is_ready_when_it_was_announced() -> None:
    bucket = make(3.0)
    assert not bucket.take_if_ready(0)
    at = bucket.ready_at()
    assert not bucket.take_if_ready(at - 1000)
    assert bucket.take_if_ready(bucket.ready_at())


def test_a_token_that_is_short_by_less_than_a_nanosecond_counts() -> None:
    bucket = make(7.0, 1.0)
    bucket.take()
    assert not bucket.ready(bucket.ready_at() - 2)
    assert bucket.ready(bucket.ready_at())


def test_the_bucket_does_not_overflow() -> None:
    assert make(5.0).tokens(100 * SECOND) == 10


def test_the_capacity_grows_with_the_rate() -> None:
    bucket = make(100.0, 1.0, least=2.0, depth=50 * MILLISECOND)
    assert bucket.capacity == 5.0
    assert sent_by_a_greedy_sender(bucket, 60 * SECOND, 60 * SECOND) == 5
    bucket.set_rate(1.0, 60 * SECOND)
    assert bucket.capacity == 2.0


def test_a_new_rate_applies_from_its_instant() -> None:
    bucket = make(1.0)
    bucket.set_rate(4.0, 2 * SECOND)
    assert bucket.tokens(3 * SECOND) == 6
    assert bucket.rate_msgs_per_s == 4.0


def test_a_lower_rate_loses_the_tokens_above_the_new_capacity() -> None:
    bucket = make(1000.0, 1.0, least=2.0, depth=50 * MILLISECOND)
    assert bucket.ready(SECOND)
    bucket.set_rate(1.0, SECOND)
    assert sent_by_a_greedy_sender(bucket, SECOND, SECOND) == 2


@shapes
@given(rate=st.floats(1.0, 2000.0))
@settings(max_examples=25, deadline=None)
def test_a_greedy_sender_gets_the_whole_rate(shape: dict[str, float], rate: float) -> None:
    bucket = TokenBucket(rate, tokens=1.0, now=0, **shape)  # type: ignore[arg-type]
    assert rate - 1 <= sent_by_a_greedy_sender(bucket, 0, SECOND) <= rate + 2


@shapes
@given(
    rate=st.floats(0.01, 1000.0),
    idle=st.integers(0, 100 * SECOND),
    steps=st.lists(st.integers(1, 10 * SECOND), max_size=40),
)
def test_no_interval_carries_more_than_the_rate_and_one_capacity(
    shape: dict[str, float], rate: float, idle: Duration, steps: list[Duration]
) -> None:
    bucket = TokenBucket(rate, tokens=0.0, now=0, **shape)  # type: ignore[arg-type]
    now, taken = idle, 0
    for step in [0, *steps]:
        now += step
        while bucket.take_if_ready(now):
            taken += 1
    most = rate * (now - idle) / SECOND + bucket.capacity
    assert taken <= most + 1e-6 * (1 + taken)


@given(
    changes=st.lists(
        st.tuples(st.integers(1, 5 * SECOND), st.floats(0.1, 1000.0)), min_size=1, max_size=30
    )
)
def test_across_changes_of_rate_no_more_is_sent_than_arrived(
    changes: list[tuple[Duration, float]],
) -> None:
    rate = 1.0
    bucket, now, taken, arrived = make(rate, 5.0), 0, 0, 5.0
    for step, new_rate in changes:
        now += step
        arrived += rate * step / SECOND
        while bucket.take_if_ready(now):
            taken += 1
        bucket.set_rate(new_rate, now)
        rate = new_rate
    assert taken <= arrived + 1e-6 * (1 + taken)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "rate", "ready_at"]),
        st.integers(0, 2 * SECOND),
        st.floats(0.1, 1e4),
    ),
    max_size=40,
)


@shapes
@given(STEPS)
@settings(deadline=None)
def test_buckets_in_columns_do_what_a_bucket_does(
    shape: dict[str, float], steps: list[tuple[str, int, float]]
) -> None:
    one = TokenBucket(5.0, tokens=1.0, now=0, **shape)  # type: ignore[arg-type]
    many = TokenBuckets(**shape)  # type: ignore[arg-type]
    for number in range(2):
        many.append()
        many.start(number, 5.0, tokens=1.0, now=0)
    now = 0
    for what, elapsed, rate in steps:
        now += elapsed
        if what == "rate":
            one.set_rate(rate, now)
            many.set_rate(1, rate, now)
        elif what == "take" and one.ready(now):
            assert many.ready(1, now)
            one.take()
            many.take(1)
        assert many.tokens(1, now) == one.tokens(now)
        assert (many.ready(1, now), many.ready_at(1)) == (one.ready(now), one.ready_at())
    assert many.rate_msgs_per_s(0) == 5.0
    assert many.tokens(0, 0) == 1.0

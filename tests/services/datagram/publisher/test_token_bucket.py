"""Tokens come at the quota."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.services.datagram.publisher.token_bucket import FlowTokens


def taken_in(tokens: FlowTokens, begin: int, end: int) -> int:
    """How many messages a greedy sender gets out, waking when it is told to."""
    count, now = 0, begin
    while now <= end:
        while tokens.ready(now):
            tokens.take()
            count += 1
        now = max(now + 1, tokens.ready_at())
    return count


@given(st.floats(1.0, 2000.0))
@settings(max_examples=25, deadline=None)
def test_a_greedy_sender_gets_the_quota_and_no_more(quota: float) -> None:
    count = taken_in(FlowTokens(quota, 0), 0, SECOND)
    assert quota - 1 <= count <= quota + 2


def test_what_is_saved_up_is_bounded() -> None:
    tokens = FlowTokens(100.0, 0)
    assert tokens.depth == 5.0
    assert taken_in(tokens, 60 * SECOND, 60 * SECOND) == 5


def test_a_lower_quota_takes_what_was_saved() -> None:
    tokens = FlowTokens(1000.0, 0)
    assert tokens.ready(SECOND)
    tokens.set_quota(1.0, SECOND)
    assert taken_in(tokens, SECOND, SECOND) == 2


def test_a_token_is_there_when_it_was_announced() -> None:
    tokens = FlowTokens(7.0, 0)
    tokens.take()
    assert not tokens.ready(tokens.ready_at() - 2)
    assert tokens.ready(tokens.ready_at())

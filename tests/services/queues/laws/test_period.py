"""The period of the control loop (Section IV.B)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, MINUTE, SECOND
from penstock.services.queues.laws.period import period_ns


def test_the_period_follows_from_the_overhead():
    # Two queues, two messages each, 0.1 % of 2,000 a second: two seconds.
    assert period_ns(4, 0.001, 2000, least=MILLISECOND, most=MINUTE) == 2 * SECOND


def test_the_period_is_bounded():
    assert period_ns(4, 0.001, 0, least=MILLISECOND, most=MINUTE) == MINUTE
    assert period_ns(4, 0.001, 1e9, least=MILLISECOND, most=MINUTE) == MILLISECOND


@given(st.integers(1, 100), st.floats(1e-4, 1), st.floats(1, 1e5))
def test_half_the_messages_take_half_the_period(messages, overhead, produced):
    bounds = {"least": 0, "most": 10**18}
    whole = period_ns(2 * messages, overhead, produced, **bounds)
    assert abs(whole - 2 * period_ns(messages, overhead, produced, **bounds)) <= 2

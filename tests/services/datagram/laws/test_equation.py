"""Equation (1) of Section II."""

from __future__ import annotations

from math import inf, isclose

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.laws.equation import allowed_rate, loss_event_rate_for

RATES = st.floats(1e-8, 1.0)
TRIPS = st.integers(MILLISECOND, 10 * SECOND)


def test_the_value_that_the_garbled_copy_misses() -> None:
    assert int(allowed_rate(0.0001, 100 * MILLISECOND)) == 1223


def test_without_losses_there_is_no_limit() -> None:
    assert allowed_rate(0.0, SECOND) == inf


@given(RATES, RATES, TRIPS)
@settings(deadline=None)
def test_more_losses_allow_less(first: float, second: float, trip: int) -> None:
    low, high = sorted((first, second))
    assert allowed_rate(low, trip) >= allowed_rate(high, trip)


@given(st.floats(1e-7, 0.99), TRIPS)
@settings(deadline=None)
def test_the_inverse_leads_back(rate: float, trip: int) -> None:
    assert isclose(loss_event_rate_for(allowed_rate(rate, trip), trip), rate, rel_tol=1e-6)


@given(RATES, TRIPS)
@settings(deadline=None)
def test_twice_the_round_trip_allows_half(rate: float, trip: int) -> None:
    assert isclose(allowed_rate(rate, 2 * trip), allowed_rate(rate, trip) / 2)

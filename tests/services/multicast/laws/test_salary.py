"""Salary periods, savings and the lottery: Sections IV-B.4 to IV-B.7."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import PaperLaw

LAW = PaperLaw()
T_MIN = 50 * MILLISECOND


def test_equation_10_takes_a_period_from_a_second_to_48_ms() -> None:
    law = PaperLaw(longest_period_ns=SECOND)
    shorter = next_period_ns(
        float(SECOND), blocked=True, dearest_bought=1.0, update_min_ns=T_MIN, law=law
    )
    assert round(float(shorter) / MILLISECOND) == 48


@given(
    st.floats(20e6, 250e6),
    st.booleans(),
    st.floats(0, 21),
)
def test_periods_stay_within_bounds(period_ns: float, blocked: bool, dearest: float) -> None:
    after = float(
        next_period_ns(
            period_ns, blocked=blocked, dearest_bought=dearest, update_min_ns=T_MIN, law=LAW
        )
    )
    assert LAW.shortest_period_ns <= after <= LAW.longest_period_ns
    if not blocked:
        assert after == period_ns
    elif dearest > LAW.threshold:
        assert after >= period_ns
    else:
        assert after <= period_ns


def test_savings_have_a_cap_and_cheap_packets_always_win_the_lottery() -> None:
    assert paid(15.0, 10.0, LAW) == LAW.prohibitive_cost
    assert send_probability(1.0) == 1.0
    assert send_probability(4.0) == 0.25


def test_policies_take_arrays() -> None:
    periods = np.array([20e6, 250e6])
    after = next_period_ns(
        periods,
        blocked=np.array([True, False]),
        dearest_bought=np.array([5.0, 5.0]),
        update_min_ns=T_MIN,
        law=LAW,
    )
    assert np.asarray(after).tolist() == [40e6, 250e6]

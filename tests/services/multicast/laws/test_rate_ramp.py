"""The improved law's slow start."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.parameters import ImprovedLaw

IMPROVED = ImprovedLaw()
T_MIN = 50 * MILLISECOND
rates = st.floats(1e-3, 1e6)


@given(rates, rates, rates, st.booleans())
def test_no_sender_more_than_doubles(ramp: float, granted: float, used: float, more: bool) -> None:
    granted = min(granted, ramp)
    after = float(next_ramp(ramp, granted=granted, used=used, wanted_more=more, law=IMPROVED))
    assert after <= max(2 * ramp, IMPROVED.first_rate_packets_per_s)
    assert IMPROVED.first_rate_packets_per_s <= after <= IMPROVED.highest_rate_packets_per_s
    assert float(granted_rate(0.0, after, 1.0, 0.5)) == after


def test_an_idle_sender_falls_by_half_in_each_doubling_time() -> None:
    rate = next_ramp(800.0, granted=800.0, used=0.0, wanted_more=False, law=IMPROVED, periods=3)
    assert float(rate) == 100.0
    long = next_ramp(800.0, granted=800.0, used=0.0, wanted_more=False, law=IMPROVED, periods=9**9)
    assert float(long) == IMPROVED.first_rate_packets_per_s


def test_a_far_sender_doubles_more_slowly() -> None:
    assert doubling_ns(0, T_MIN) == 100 * MILLISECOND
    assert doubling_ns(SECOND, T_MIN) == 2100 * MILLISECOND

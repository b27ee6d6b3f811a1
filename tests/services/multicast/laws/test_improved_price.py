"""The improved price: the buffer settles at its target, whoever sends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at
from penstock.services.multicast.laws.improved_price import FeedbackPrice
from penstock.services.multicast.laws.rate_ramp import granted_rate
from penstock.services.multicast.parameters import ImprovedLaw

IMPROVED = ImprovedLaw()
T_MIN = 50 * MILLISECOND


def _settle(senders: int, capacity: float, delay_updates: int, rounds: int = 3000) -> list[float]:
    """The backlog of a link over time, whose senders follow its price some updates later."""
    exponent = EXPONENTS["throughput"]
    record = FeedbackPrice(IMPROVED, exponent, 0)
    known = [(0, 0.0)] * (delay_updates + 1)
    ramp, waiting, history = 2.0, 0.0, []
    for number in range(1, rounds + 1):
        now = number * T_MIN
        sequence, price = known[-delay_updates - 1]
        rate = float(granted_rate(price, ramp, 1.0, exponent))
        if number % (2 * delay_updates + 2) == 0:
            ramp = 2 * rate
        arriving = senders * rate * T_MIN / SECOND
        paid_price = float(price_at(rate, 1.0, exponent))
        record.arrived(arriving, paid_price, sequence or None, now)
        waiting = max(0.0, waiting + arriving - capacity * T_MIN / SECOND)
        history.append(waiting)
        price = record.update(waiting, now)
        record.issued(number, now)
        known.append((number, price))
    return history


@pytest.mark.parametrize("senders", [1, 20, 1000, 10_000])
@pytest.mark.parametrize("delay_updates", [0, 1, 8])
def test_the_buffer_settles_at_the_target(senders: int, delay_updates: int) -> None:
    """Whatever the number of senders and however far they are."""
    end = _settle(senders, 250.0, delay_updates)[-50:]
    assert max(end) < 2 * IMPROVED.target_packets
    assert min(end) > 0


def test_a_link_on_which_nothing_waits_is_free() -> None:
    record = FeedbackPrice(IMPROVED, 0.5, 0)
    for number in range(1, 100):
        record.arrived(5.0, 0.3, None, number * T_MIN)
        assert record.update(0.0, number * T_MIN) == 0


def test_the_price_of_a_link_that_nobody_uses_any_more_fades() -> None:
    record = FeedbackPrice(IMPROVED, 0.5, 0)
    record.arrived(500.0, 0.3, None, T_MIN)
    assert record.update(400.0, T_MIN) > 0
    for number in range(2, 100):
        price = record.update(0.0, number * T_MIN)
    assert price == 0


@given(
    st.lists(
        st.tuples(st.floats(0, 1e4), st.floats(1e-6, 1e3), st.floats(0, 1e5)),
        min_size=1,
        max_size=50,
    )
)
def test_prices_are_never_negative_nor_infinite(updates: list[tuple[float, float, float]]) -> None:
    record = FeedbackPrice(IMPROVED, 1 / 3, 0)
    for number, (arriving, price_paid, waiting) in enumerate(updates, 1):
        record.arrived(arriving, price_paid, number - 1, number * T_MIN)
        assert 0 <= record.update(waiting, number * T_MIN) < 1e9
        record.issued(number, number * T_MIN)


def test_on_a_thin_link_less_waits() -> None:
    """Of 10 packets a second two messages wait, not fifteen: they take 0.2 s and not 1.5."""
    end = _settle(1, 10.0, 1)[-50:]
    assert 0 < sum(end) / len(end) < 4


def test_a_price_falls_if_nobody_sends_any_more() -> None:
    """Also if the last packets were many, and named a price that is still asked."""
    record = FeedbackPrice(IMPROVED, 0.5, 0)
    now = 0
    for _ in range(20):
        now += T_MIN
        record.arrived(50.0, 0.3, None, now)
        record.update(200.0, now)
    high = record.price
    for _ in range(40):
        now += T_MIN
        record.update(0.0, now)
    assert record.price < high / 1000

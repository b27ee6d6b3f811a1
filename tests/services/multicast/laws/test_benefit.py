"""What a rate is worth, and the rate that a price leaves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.laws.benefit import (
    EXPONENTS,
    LEAST_WEIGHT,
    allowed_weight,
    price_at,
    rate_at,
    salary_factor,
    worth_of_a_packet,
)

rates = st.floats(1e-3, 1e6)


@given(rates, st.floats(0.1, 10), st.sampled_from(list(EXPONENTS.values())))
def test_rate_and_price_are_inverse(rate: float, weight: float, exponent: float) -> None:
    price = float(price_at(rate, weight, exponent))
    assert float(rate_at(price, weight, exponent)) == pytest.approx(rate, rel=1e-6)


@given(st.floats(1e-3, 10), st.floats(0.1, 100), st.sampled_from(list(EXPONENTS.values())))
def test_a_weight_is_a_ratio_of_rates(price: float, weight: float, exponent: float) -> None:
    ratio = float(rate_at(price, weight, exponent)) / float(rate_at(price, 1.0, exponent))
    assert ratio == pytest.approx(weight)


def test_a_concave_salary_falls_with_the_rate() -> None:
    assert salary_factor(400.0, "throughput", 2.0) == 2.0
    assert float(salary_factor(400.0, "concave", 1.0)) == pytest.approx(0.5)
    assert float(salary_factor(25.0, "concave", 1.0)) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("asked", "given_weight"),
    [
        (1.0, 1.0),
        (1000.0, 2.0),
        (float("inf"), 2.0),
        (0.0, LEAST_WEIGHT),
        (-1.0, LEAST_WEIGHT),
        (float("nan"), LEAST_WEIGHT),
    ],
)
def test_a_weight_is_positive_and_at_most_what_the_broker_allows(
    asked: float, given_weight: float
) -> None:
    assert allowed_weight(asked, highest=2.0) == given_weight


def test_a_packet_is_worth_as_much_as_it_has_receivers_if_they_count() -> None:
    assert worth_of_a_packet("sent", 5) == 1
    assert worth_of_a_packet("received", 5) == 5
    assert worth_of_a_packet("received", 0) == 1

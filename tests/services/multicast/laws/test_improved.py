"""The improved law makes paced accounts and feedback prices of its parameters."""

from __future__ import annotations

from random import Random

from penstock.services.multicast.laws.improved import FeedbackLaw
from penstock.services.multicast.parameters import ImprovedLaw, MulticastParameters

T_MIN = MulticastParameters().update_min_ns


def _price(parameters: MulticastParameters) -> float:
    price = FeedbackLaw(parameters, Random(1)).price_link(0)
    price.arrived(500.0, 0.3, None, T_MIN)
    return price.update(400.0, T_MIN)


def test_prices_depend_on_the_target_and_on_the_benefit() -> None:
    usual = _price(MulticastParameters())
    assert usual > 0
    assert _price(MulticastParameters(improved=ImprovedLaw(target_packets=300.0))) < usual
    assert _price(MulticastParameters(benefit="concave")) != usual


def test_an_account_starts_at_the_first_rate() -> None:
    improved = ImprovedLaw(first_rate_packets_per_s=7.0)
    law = FeedbackLaw(MulticastParameters(improved=improved), Random(1))
    assert law.open_account(1.0, 0).describe(0)["rate_packets_per_s"] == 7.0

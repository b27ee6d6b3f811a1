"""The parameter ``law`` decides how links are priced and senders paced."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.laws.improved import FeedbackLaw
from penstock.services.multicast.laws.law import Account
from penstock.services.multicast.laws.paper import SalaryLaw
from penstock.services.multicast.parameters import Law, MulticastParameters, PaperLaw

LAWS: list[Law] = ["paper", "improved"]


def account(parameters: MulticastParameters, weight: float = 1.0) -> Account:
    return chosen_law(parameters, Random(1)).open_account(weight, 0)


@pytest.mark.parametrize(("law", "chosen"), [("paper", SalaryLaw), ("improved", FeedbackLaw)])
def test_each_law_has_one_class(law: Law, chosen: type) -> None:
    assert type(chosen_law(MulticastParameters(law=law), Random(1))) is chosen


@pytest.mark.parametrize("law", LAWS)
def test_a_dearer_tree_leaves_a_lower_rate(law: Law, spend: Callable[..., float]) -> None:
    parameters = MulticastParameters(law=law)
    cheap, dear = (spend(account(parameters), price, 20) for price in (0.3, 3.0))
    assert 0 < dear < cheap / 3


@pytest.mark.parametrize("law", LAWS)
def test_large_messages_get_the_same_bytes(law: Law, spend: Callable[..., float]) -> None:
    parameters = MulticastParameters(law=law, paper=PaperLaw(randomised=False))
    small, large = (spend(account(parameters), 0.3, 40, size) for size in (1.0, 30.0))
    assert large == pytest.approx(small, rel=0.25)


@pytest.mark.parametrize("law", LAWS)
def test_a_larger_weight_gets_more(law: Law, spend: Callable[..., float]) -> None:
    parameters = MulticastParameters(law=law, paper=PaperLaw(randomised=False))
    plain, weighty = (spend(account(parameters, weight), 4.0, 60) for weight in (1.0, 2.0))
    assert weighty > plain


@pytest.mark.parametrize("law", LAWS)
def test_a_link_on_which_packets_wait_costs_something(law: Law) -> None:
    price = chosen_law(MulticastParameters(law=law), Random(1)).price_link(0)
    price.arrived(500.0, 0.3, None, 1)
    assert price.update(400.0, 50_000_000) > 0

"""What a broker knows of prices: its own, told in time, and those that neighbours tell."""

from __future__ import annotations

from math import isfinite
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.choice import chosen_law
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.parameters import Law, MulticastParameters
from penstock.services.multicast.prices.names import price_name
from penstock.services.multicast.prices.pricing import Pricing

NOW = 1_700_000_000 * SECOND
T_MIN = 50 * MILLISECOND
LAWS: list[Law] = ["paper", "improved"]


def pricing(law: Law = "paper", **queued_bytes: int) -> Pricing:
    return pricing_of(MulticastParameters(law=law), queued_bytes)


def pricing_of(parameters: MulticastParameters, queued_bytes: dict[str, int]) -> Pricing:
    """A broker with one link, to b."""
    found = Pricing("a", parameters, chosen_law(parameters, Random(1)), queued_bytes)
    found.link_up("b", NOW)
    return found


def test_a_congested_link_is_told_every_t_min_and_its_first_zero_at_the_next() -> None:
    queued = {"b": 50_000}
    prices = pricing_of(MulticastParameters(law="paper"), queued)
    (first,) = prices.update(NOW + T_MIN)
    assert first.price > 0
    assert prices.update(NOW + T_MIN + 1) == [], "not before T_min"
    queued.clear()
    (zero,) = prices.update(NOW + 2 * T_MIN)
    assert zero.price == 0
    assert zero.sequence > first.sequence
    assert prices.update(NOW + 3 * T_MIN) == [], "afterwards at T_max"
    assert len(prices.update(NOW + 3 * SECOND)) == 1


def test_only_later_prices_are_news() -> None:
    prices = pricing()
    number = link_number("x", "y")
    assert prices.learn([PriceRecord(number, 5, 1.0)])
    assert not prices.learn([PriceRecord(number, 5, 2.0), PriceRecord(number, 4, 3.0)])
    assert prices.price(number) == 1.0


@pytest.mark.parametrize("nonsense", [float("nan"), float("inf"), -1.0, 1e300])
def test_a_number_that_cannot_be_a_price_is_ignored(nonsense: float) -> None:
    prices = pricing()
    number = link_number("x", "y")
    assert prices.learn([PriceRecord(number, 5, 1.0)])
    assert prices.learn([PriceRecord(number, 6, nonsense)]) == []
    assert prices.price(number) == 1.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**63 - 1), st.floats())))
def test_no_price_of_a_neighbour_stops_an_account(
    told: list[tuple[int, int, float]],
) -> None:
    prices = pricing()
    prices.learn(PriceRecord(*each) for each in told)
    total, _ = prices.total(range(4))
    assert isfinite(total)
    for law in LAWS:
        account = chosen_law(MulticastParameters(law=law), Random(1)).open_account(1.0, NOW)
        if account.buy(1.0, total, 0, NOW) is None:
            assert account.ask_again_at() > NOW


@given(st.lists(st.floats(), max_size=20))
def test_no_claimed_payment_breaks_the_price_of_a_link(paid: list[float]) -> None:
    queued = {"b": 100_000}
    prices = pricing_of(MulticastParameters(), queued)
    at = NOW
    for each in paid:
        at += T_MIN
        prices.sent("b", 20.0, each, (), at)
        prices.update(at)
    for _ in range(40):
        at += T_MIN
        prices.sent("b", 20.0, 0.2, (), at)
        prices.update(at)
    assert 0 < prices.own_price("b") < 1e9


@pytest.mark.parametrize("law", LAWS)
def test_only_a_link_with_a_price_names_itself_in_a_total(law: Law) -> None:
    prices = pricing(law, b=50_000)
    number = link_number("a", "b")
    assert prices.total([number]) == (0.0, ())
    prices.sent("b", 50.0, 0.2, (), NOW)
    (told,) = prices.update(NOW + T_MIN)
    assert prices.total([number, link_number("x", "y")]) == (told.price, (price_name(told),))
    assert prices.records() == [told]


def test_a_link_that_went_down_costs_nothing() -> None:
    prices = pricing(b=50_000)
    prices.update(NOW + T_MIN)
    assert prices.own_price("b") > 0
    prices.link_down("b")
    assert prices.own_price("b") == 0
    assert prices.price(link_number("a", "b")) == 0
    assert prices.next_deadline() is None


def test_after_a_restart_sequences_continue_above_the_earlier_ones() -> None:
    prices = pricing(b=50_000)
    (before,) = prices.update(NOW + T_MIN)
    again = Pricing("a", MulticastParameters(), chosen_law(MulticastParameters(), Random(1)), {})
    again.link_up("b", NOW + SECOND)
    assert again.own_links()["b"].sequence > before.sequence

"""What a broker knows of prices: its own, told in time, and those that neighbours tell."""

from __future__ import annotations

from math import isfinite
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.account import open_account
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.parameters import Law, MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing

NOW = 1_700_000_000 * SECOND
T_MIN = 50 * MILLISECOND


def pricing(law: Law = "paper", **queued_bytes: int) -> Pricing:
    found = Pricing("a", MulticastParameters(law=law), queued_bytes)
    found.link_up("b", NOW)
    return found


def test_a_congested_link_is_told_every_t_min_and_its_first_zero_at_the_next() -> None:
    queued = {"b": 50_000}
    prices = Pricing("a", MulticastParameters(law="paper"), queued)
    prices.link_up("b", NOW)
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
def test_what_can_be_no_price_is_not_taken_in(nonsense: float) -> None:
    prices = pricing()
    number = link_number("x", "y")
    assert prices.learn([PriceRecord(number, 5, 1.0)])
    assert prices.learn([PriceRecord(number, 6, nonsense)]) == []
    assert prices.price(number) == 1.0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**63 - 1), st.floats())))
def test_whatever_neighbours_tell_an_account_goes_on(told: list[tuple[int, int, float]]) -> None:
    prices = pricing()
    prices.learn(PriceRecord(*each) for each in told)
    total, _ = prices.total(range(4))
    assert isfinite(total)
    for law in ("paper", "improved"):
        account = open_account(MulticastParameters(law=law), 1.0, Random(1), NOW)  # type: ignore[arg-type]
        if account.buy(1.0, total, 0, NOW) is None:
            assert account.ask_again_at() > NOW


@given(st.lists(st.floats(), max_size=20))
def test_whatever_messages_say_they_paid_the_link_keeps_a_price(paid: list[float]) -> None:
    queued = {"b": 50_000}
    prices = Pricing("a", MulticastParameters(), queued)
    prices.link_up("b", NOW)
    at = NOW
    for each in paid:
        at += T_MIN
        prices.sent("b", 20.0, each, (0, 0), at)
        prices.update(at)
    for _ in range(40):
        at += T_MIN
        prices.sent("b", 20.0, 0.2, (0, 0), at)
        prices.update(at)
    assert 0 < prices.own_price("b") < 1e9

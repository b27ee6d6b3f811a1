"""Prices, salaries, rates and accounts: numbers in, numbers out."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.multicast.laws.account import (
    Account,
    PacedAccount,
    SalaryAccount,
    open_account,
)
from penstock.services.multicast.laws.benefit import EXPONENTS, price_at, rate_at, salary_factor
from penstock.services.multicast.laws.improved_price import FeedbackPrice
from penstock.services.multicast.laws.paper_price import paper_price
from penstock.services.multicast.laws.rate_ramp import doubling_ns, granted_rate, next_ramp
from penstock.services.multicast.laws.salary import next_period_ns, paid, send_probability
from penstock.services.multicast.parameters import ImprovedLaw, Law, MulticastParameters, PaperLaw

LAW = PaperLaw()
IMPROVED = ImprovedLaw()
T_MIN = 50 * MILLISECOND
packets = st.floats(0, 1e6)
rates = st.floats(1e-3, 1e6)


def test_an_empty_buffer_costs_nothing_and_a_full_one_all_savings() -> None:
    assert paper_price(0, LAW) == 0
    assert paper_price(100, LAW) == pytest.approx(20)


def test_from_97_packets_on_nobody_can_pay() -> None:
    """The soft limit at work: a packet costs the fee besides."""
    assert LAW.processing_fee + paper_price(96, LAW) < LAW.prohibitive_cost
    assert LAW.processing_fee + paper_price(97, LAW) > LAW.prohibitive_cost


@given(packets, packets)
def test_the_price_rises_with_the_buffer(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert paper_price(low, LAW) <= paper_price(high, LAW) < 1e6


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


@given(rates, st.floats(0.1, 10), st.sampled_from(list(EXPONENTS.values())))
def test_rate_and_price_are_inverse(rate: float, weight: float, exponent: float) -> None:
    price = float(price_at(rate, weight, exponent))
    assert float(rate_at(price, weight, exponent)) == pytest.approx(rate, rel=1e-6)


def test_a_concave_salary_falls_with_the_rate() -> None:
    assert salary_factor(400.0, "throughput", 2.0) == 2.0
    assert float(salary_factor(400.0, "concave", 1.0)) == pytest.approx(0.5)
    assert float(salary_factor(25.0, "concave", 1.0)) == pytest.approx(2.0)


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


@pytest.mark.parametrize("weight", [float("nan"), -1.0, 0.0, float("inf")])
def test_a_weight_that_makes_no_sense_does_no_harm(weight: float) -> None:
    account = open_account(MulticastParameters(), weight, Random(1), 0)
    assert account.buy(1.0, 0.5, 0, 0) is None
    assert account.ask_again_at() > 0


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


def test_a_far_sender_doubles_more_slowly() -> None:
    assert doubling_ns(0, T_MIN) == 100 * MILLISECOND
    assert doubling_ns(SECOND, T_MIN) == 2100 * MILLISECOND


# -- the improved price ----------------------------------------------------------------------------


def _settle(senders: int, capacity: float, delay_updates: int, rounds: int = 3000) -> list[float]:
    """A link and senders who all go by its price, some updates later; what waits over time."""
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


# -- accounts --------------------------------------------------------------------------------------


def _spend(account: Account, price: float, seconds: int, size: float = 1.0) -> float:
    """How many packets a greedy sender gets through."""
    now, end, bought = 0, seconds * SECOND, 0.0
    while now < end:
        if account.buy(size, price, 0, now) is None:
            after = account.ask_again_at()
            assert after > now, "an account that says no must say when to ask again"
            now = after
        else:
            bought += size
    return bought


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_a_dearer_tree_leaves_a_lower_rate(law: Law) -> None:
    parameters = MulticastParameters(law=law)
    cheap, dear = (
        _spend(open_account(parameters, 1.0, Random(1), 0), price, 20) for price in (0.3, 3.0)
    )
    assert 0 < dear < cheap / 3


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_large_messages_get_the_same_bytes(law: Law) -> None:
    parameters = MulticastParameters(law=law, paper=PaperLaw(randomised=False))
    small, large = (
        _spend(open_account(parameters, 1.0, Random(1), 0), 0.3, 40, size) for size in (1.0, 30.0)
    )
    assert large == pytest.approx(small, rel=0.25)


def test_the_improved_rate_is_what_the_benefit_wants() -> None:
    account = PacedAccount(MulticastParameters(), 1.0, Random(1), 0)
    _spend(account, 0.5, 5)
    wanted = float(rate_at(0.5, 1.0, EXPONENTS["throughput"]))
    assert _spend(PacedAccount(MulticastParameters(), 1.0, Random(1), 0), 0.5, 60) == pytest.approx(
        60 * wanted, rel=0.1
    )
    assert account.describe(0)["rate_packets_per_s"] == pytest.approx(wanted, rel=0.01)


def test_a_lost_draw_stands_until_the_price_is_another_or_the_time_is_over() -> None:
    """Prices of links beside the tree are no reason to draw."""
    parameters = MulticastParameters(law="paper")
    account = SalaryAccount(parameters, 1.0, Random(1), 0)
    now, price = SECOND, 9.0
    while (
        account.buy(1.0, price, 0, now) is not None or account.describe(0)["waits_for"] == "money"
    ):
        now += SECOND
    assert account.ask_again_at() == now + LAW.lottery_ns
    assert all(account.buy(1.0, price, 0, now) is None for _ in range(1000)), "no second draw"
    tries = (account.buy(1.0, price + number * 1e-9, 0, now) for number in range(1, 1000))
    assert any(paid is not None for paid in tries), "each new price draws, with one in ten"


def test_what_the_link_itself_would_hold_is_not_priced() -> None:
    law = PaperLaw(unacknowledged_packets=20)
    assert paper_price(20, law) == 0
    assert paper_price(60, law) == paper_price(40, LAW) > 0


def test_an_idle_salary_is_not_counted_payday_by_payday() -> None:
    account = SalaryAccount(MulticastParameters(law="paper"), 1.0, Random(1), 0)
    assert account.buy(1.0, 0.0, 0, 10**6 * SECOND) is not None
    assert account.describe(0)["balance"] == pytest.approx(19)


def test_a_weight_is_cut_to_what_the_broker_allows() -> None:
    parameters = MulticastParameters(highest_weight=2.0)
    greedy = _spend(open_account(parameters, 1000.0, Random(1), 0), 1.0, 60)
    allowed = _spend(open_account(parameters, 2.0, Random(1), 0), 1.0, 60)
    plain = _spend(open_account(parameters, 1.0, Random(1), 0), 1.0, 60)
    assert greedy == allowed > plain

"""A sender's account under the paper's law."""

from __future__ import annotations

from random import Random

import pytest

from penstock.core.clock import SECOND
from penstock.services.multicast.laws.law import WaitsFor
from penstock.services.multicast.laws.salary_account import SalaryAccount
from penstock.services.multicast.parameters import MulticastParameters, PaperLaw

LAW = PaperLaw()


def waits_for(account: SalaryAccount) -> object:
    return account.describe(0)["waits_for"]


def test_a_lost_draw_stands_until_the_price_is_another_or_the_time_is_over() -> None:
    """Prices of links beside the tree are no reason to draw."""
    parameters = MulticastParameters(law="paper")
    account = SalaryAccount(parameters, 1.0, Random(1), 0)
    now, price = SECOND, 9.0
    while (
        account.buy(1.0, price, 0, now) is not None
        or account.describe(0)["waits_for"] == WaitsFor.MONEY
    ):
        now += SECOND
    assert account.ask_again_at() == now + LAW.lottery_ns
    assert all(account.buy(1.0, price, 0, now) is None for _ in range(1000)), "no second draw"
    tries = (account.buy(1.0, price + number * 1e-9, 0, now) for number in range(1, 1000))
    assert any(paid is not None for paid in tries), "each new price draws, with one in ten"


def test_an_idle_salary_is_not_counted_payday_by_payday() -> None:
    account = SalaryAccount(MulticastParameters(law="paper"), 1.0, Random(1), 0)
    assert account.buy(1.0, 0.0, 0, 10**6 * SECOND) is not None
    assert account.describe(0)["balance"] == pytest.approx(19)


def test_a_sender_without_savings_waits_for_payday() -> None:
    account = SalaryAccount(MulticastParameters(law="paper"), 1.0, Random(1), 0)
    assert account.buy(1.0, 5.0, 0, 0) is None
    assert waits_for(account) == WaitsFor.MONEY
    assert 0 < account.ask_again_at() <= LAW.longest_period_ns

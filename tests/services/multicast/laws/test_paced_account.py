"""A sender's account under the improved law."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from penstock.services.multicast.laws.benefit import EXPONENTS, LEAST_WEIGHT, rate_at
from penstock.services.multicast.laws.law import WaitsFor
from penstock.services.multicast.laws.paced_account import LONGEST_WAIT_NS, PacedAccount
from penstock.services.multicast.parameters import MulticastParameters

PARAMETERS = MulticastParameters()
Spend = Callable[..., float]


def paced(weight: float = 1.0) -> PacedAccount:
    return PacedAccount(PARAMETERS, weight, Random(1), 0)


def test_the_rate_is_what_the_benefit_wants(spend: Spend) -> None:
    account = paced()
    spend(account, 0.5, 5)
    wanted = float(rate_at(0.5, 1.0, EXPONENTS["throughput"]))
    assert account.describe(0)["rate_packets_per_s"] == pytest.approx(wanted, rel=0.01)
    assert spend(paced(), 0.5, 60) == pytest.approx(60 * wanted, rel=0.1)


def test_a_new_sender_waits_for_its_slow_start_and_then_for_the_price(spend: Spend) -> None:
    account = paced()
    assert account.buy(1.0, 0.5, 0, 0) is None
    assert account.describe(0)["waits_for"] == WaitsFor.SLOW_START
    spend(account, 0.5, 20)
    assert account.describe(0)["waits_for"] == WaitsFor.PRICE


def test_a_large_debt_is_looked_at_again_in_time() -> None:
    account = paced(LEAST_WEIGHT)
    assert account.buy(1.0, 1e9, 0, 0) is None
    assert 0 < account.ask_again_at() <= LONGEST_WAIT_NS


def test_senders_that_start_together_do_not_send_together() -> None:
    first = []
    for seed in range(5):
        account = PacedAccount(PARAMETERS, 1.0, Random(seed), 0)
        now = 0
        while account.buy(1.0, 0.0, 0, now) is None:
            now = account.ask_again_at()
        first.append(now)
    assert len(set(first)) == 5

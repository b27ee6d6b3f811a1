"""The paper's law makes salaried accounts and buffer prices of its parameters."""

from __future__ import annotations

from random import Random

from penstock.services.multicast.laws.paper import SalaryLaw
from penstock.services.multicast.laws.paper_price import paper_price
from penstock.services.multicast.laws.salary_account import SalaryAccount
from penstock.services.multicast.parameters import MulticastParameters, PaperLaw

PARAMETERS = MulticastParameters(law="paper", paper=PaperLaw(soft_limit_packets=10))


def test_links_are_priced_by_the_soft_limit_of_the_parameters() -> None:
    price = SalaryLaw(PARAMETERS, Random(1)).price_link(0)
    assert price.update(10.0, 1) == paper_price(10.0, PARAMETERS.paper)


def test_accounts_draw_from_one_random_stream() -> None:
    """So that the paydays of senders that open together differ."""
    law = SalaryLaw(PARAMETERS, Random(1))
    first, second = law.open_account(1.0, 0), law.open_account(1.0, 0)
    assert isinstance(first, SalaryAccount)
    for account in (first, second):
        assert account.buy(1.0, 5.0, 0, 0) is None
    assert first.ask_again_at() != second.ask_again_at()

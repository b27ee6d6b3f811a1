"""The parameter ``law`` decides which class steers a peer."""

from __future__ import annotations

from random import Random

import pytest

from penstock.services.gossip.laws.choice import chosen_law
from penstock.services.gossip.laws.improved import CopiesLaw
from penstock.services.gossip.laws.none import UnlimitedLaw
from penstock.services.gossip.laws.paper import AgeLaw
from penstock.services.gossip.parameters import GossipParameters, Law


@pytest.mark.parametrize(
    ("law", "chosen"), [("none", UnlimitedLaw), ("paper", AgeLaw), ("improved", CopiesLaw)]
)
def test_each_law_has_one_class(law: Law, chosen: type) -> None:
    assert type(chosen_law(GossipParameters(law=law), Random(1))) is chosen


@pytest.mark.parametrize(
    ("law", "limits", "balances"),
    [("none", False, False), ("paper", True, False), ("improved", True, True)],
)
def test_what_a_law_asks_of_the_peer(law: Law, limits: bool, balances: bool) -> None:
    made = chosen_law(GossipParameters(law=law), Random(1))
    assert (made.limits_rate, made.balances_targets) == (limits, balances)

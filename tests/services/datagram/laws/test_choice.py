"""The parameter ``law`` decides which class limits a session."""

from __future__ import annotations

import pytest

from penstock.services.datagram.laws.choice import chosen_law
from penstock.services.datagram.laws.improved import DelayFirstLaw
from penstock.services.datagram.laws.none import NoControl
from penstock.services.datagram.laws.paper import EquationLaw
from penstock.services.datagram.parameters import DatagramParameters, Law


@pytest.mark.parametrize(
    ("law", "chosen", "controls"),
    [("none", NoControl, False), ("paper", EquationLaw, True), ("improved", DelayFirstLaw, True)],
)
def test_each_law_has_one_class(law: Law, chosen: type, controls: bool) -> None:
    made = chosen_law(DatagramParameters(law=law))
    assert type(made) is chosen
    assert made.controls_rates is controls


def test_sessions_do_not_share_the_state_of_a_law() -> None:
    parameters = DatagramParameters(law="improved")
    assert chosen_law(parameters) is not chosen_law(parameters)

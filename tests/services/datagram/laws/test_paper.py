"""The paper's law: the equation, and nothing else."""

from __future__ import annotations

from math import inf

from penstock.core.clock import MILLISECOND
from penstock.services.datagram.laws.equation import allowed_rate
from penstock.services.datagram.laws.paper import EquationLaw
from penstock.services.datagram.subscriber.loss_history import LossHistory

from ..conftest import NOW

ROUND_TRIP_NS = 100 * MILLISECOND


def test_the_rate_is_the_equations_at_the_loss_event_rate() -> None:
    law, losses = EquationLaw(), LossHistory()
    assert law.allowed_rate(50.0, ROUND_TRIP_NS, losses, NOW) == inf
    losses.lost(NOW, ROUND_TRIP_NS, 200.0)
    expected = allowed_rate(1 / 200, ROUND_TRIP_NS)
    assert law.allowed_rate(50.0, ROUND_TRIP_NS, losses, NOW) == expected


def test_delays_change_nothing() -> None:
    law, losses = EquationLaw(), LossHistory()
    losses.lost(NOW, ROUND_TRIP_NS, 200.0)
    before = law.allowed_rate(50.0, ROUND_TRIP_NS, losses, NOW)
    law.arrived([MILLISECOND, 500 * MILLISECOND], NOW)
    law.loss_event(NOW)
    law.clock_was_set()
    assert law.allowed_rate(50.0, ROUND_TRIP_NS, losses, NOW) == before

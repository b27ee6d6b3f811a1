"""Fixed weights as a ``BalancingLaw``."""

from __future__ import annotations

from penstock.core.clock import SECOND
from penstock.services.queues.laws.fixed import FixedBalancing
from penstock.services.queues.laws.law import QueueView


def test_weights_are_turns_that_reports_do_not_change():
    law = FixedBalancing({"a": 3}, SECOND)
    law.regulate({"b": QueueView(1e6, 0, 1, 1e6)}, 1000, 1)
    assert law.allot(8, ["a", "b"]) == {"a": 6, "b": 2}
    assert (law.weight("a"), law.weight("b")) == (3, 1)


def test_nothing_is_monitored():
    law = FixedBalancing({}, SECOND)
    assert not law.monitors
    assert not law.pushed
    assert law.first_period_ns == SECOND

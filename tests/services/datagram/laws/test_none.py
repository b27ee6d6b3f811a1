"""Without a law no rate is limited, whatever is measured."""

from __future__ import annotations

from math import inf

from penstock.core.clock import MILLISECOND
from penstock.services.datagram.laws.none import NoControl
from penstock.services.datagram.subscriber.loss_history import LossHistory

from ..conftest import NOW


def test_any_rate_is_allowed() -> None:
    law, losses = NoControl(), LossHistory()
    losses.lost(NOW, 10 * MILLISECOND, 1.0)
    law.arrived([500 * MILLISECOND], NOW)
    law.loss_event(NOW)
    law.clock_was_set()
    assert law.allowed_rate(100.0, 10 * MILLISECOND, losses, NOW) == inf

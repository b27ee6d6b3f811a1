"""The law ``none``: plain lpbcast, whose senders publish as fast as they like."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.services.gossip.laws.law import Cause, Measures, initial_steering
from penstock.services.gossip.messages import Event, Header
from penstock.services.gossip.parameters import AdaptationParameters


class UnlimitedLaw:
    """Limits nothing; the rate stays at its initial value and is not used."""

    limits_rate = False
    balances_targets = False

    def __init__(self, parameters: AdaptationParameters) -> None:
        self.steering = initial_steering(parameters)

    def heard(self, header: Header) -> None:
        pass

    def arrived(self, new: Sequence[Event]) -> None:
        pass

    def next_rate(self, measures: Measures) -> float:
        return measures.rate_msgs_per_s

    def cause(self, measures: Measures) -> Cause:
        return Cause.NOT_LIMITED

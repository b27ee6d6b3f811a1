"""The law ``paper``: the rate of a TCP flow at the same loss and round trip (``equation``)."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.laws.equation import allowed_rate
from penstock.services.datagram.messages import DecidedBy
from penstock.services.datagram.subscriber.loss_history import LossHistory


class EquationLaw:
    """Losses alone decide."""

    controls_rates = True
    reports_changes = False
    joins_early = False
    needs_round_trip = True

    decided_by = DecidedBy.EQUATION

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        pass

    def clock_was_set(self) -> None:
        pass

    def loss_event(self, now: Instant) -> None:
        pass

    def decides_by(self, now: Instant) -> Instant | None:
        return None

    def allowed_rate(
        self,
        reception_msgs_per_s: float,
        round_trip_ns: Duration,
        losses: LossHistory,
        now: Instant,
    ) -> float:
        return allowed_rate(losses.loss_event_rate(), round_trip_ns)

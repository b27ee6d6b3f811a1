"""The law ``none``: nothing is measured, reported or limited."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.messages import DecidedBy
from penstock.services.datagram.subscriber.loss_history import LossHistory


class NoControl:
    """Allows any rate."""

    controls_rates = False
    reports_changes = False
    joins_early = False
    needs_round_trip = False

    decided_by = DecidedBy.NO_LIMIT

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
        return inf

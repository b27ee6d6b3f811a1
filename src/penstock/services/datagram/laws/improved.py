"""The law ``improved``: the queueing delay limits the rate before messages are lost.

While the delay law (``delay_law``) is in force it decides alone: its rate is a part of what is
received, so that losses end whatever the round trip.  While a rival keeps the queue long, the
equation alone decides.

A decision that lets the rate rise is never below what the session receives.  The delay law measures
over few messages, so that another receiver's drain, which halves the rate of the flow for a moment,
would otherwise look like a limit here, and the drains of several receivers would add up.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.laws.delay_law import DelayLaw
from penstock.services.datagram.laws.equation import allowed_rate, loss_event_rate_for
from penstock.services.datagram.messages import DecidedBy
from penstock.services.datagram.subscriber.loss_history import LossHistory


class DelayFirstLaw:
    """The delay law and the equation, for one session."""

    controls_rates = True
    reports_changes = True
    joins_early = True
    needs_round_trip = False

    def __init__(self) -> None:
        self.delay = DelayLaw()
        self._delay_decides = True

    @property
    def decided_by(self) -> DecidedBy:
        if not self._delay_decides:
            return DecidedBy.EQUATION
        return DecidedBy.DRAIN if self.delay.drains else DecidedBy.DELAY

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        self.delay.arrived(one_ways_ns, now)

    def clock_was_set(self) -> None:
        self.delay.clock_was_set()

    def loss_event(self, now: Instant) -> None:
        self.delay.loss_event(now)

    def decides_by(self, now: Instant) -> Instant | None:
        return self.delay.decides_by(now)

    def allowed_rate(
        self,
        reception_msgs_per_s: float,
        round_trip_ns: Duration,
        losses: LossHistory,
        now: Instant,
    ) -> float:
        delay_decides = self.delay.in_force(now)
        if self._delay_decides and not delay_decides and losses.events:
            # Losses from the time of a short queue say nothing about a queue that others keep
            # long, because the round trip is another.  As at a first loss, the equation starts
            # from the present rate.
            losses.begin_anew(1 / loss_event_rate_for(reception_msgs_per_s, round_trip_ns))
        self._delay_decides = delay_decides
        if delay_decides:
            allowed = self.delay.allowed_rate(now, round_trip_ns)
            return max(allowed, reception_msgs_per_s) if self.delay.rises else allowed
        return allowed_rate(losses.loss_event_rate(), round_trip_ns)

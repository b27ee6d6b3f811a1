"""The law ``improved``: the queueing delay limits the rate before messages are lost.

While the delay law is in force, the lower of its rate (``delay_law``) and the equation's counts.
While other traffic keeps the queue long, the delay law steps back and the equation alone decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.laws.delay_law import DelayLaw
from penstock.services.datagram.laws.equation import allowed_rate, loss_event_rate_for
from penstock.services.datagram.subscriber.loss_history import LossHistory


class DelayFirstLaw:
    """The delay law and the equation, for one session."""

    controls_rates = True

    def __init__(self) -> None:
        self.delay = DelayLaw()
        self._delay_decides = True

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        self.delay.arrived(one_ways_ns, now)

    def clock_was_set(self) -> None:
        self.delay.clock_was_set()

    def loss_event(self, now: Instant) -> None:
        self.delay.loss_event(now)

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
        allowed = allowed_rate(losses.loss_event_rate(), round_trip_ns)
        if not delay_decides:
            return allowed
        return min(allowed, self.delay.allowed_rate(reception_msgs_per_s, now))

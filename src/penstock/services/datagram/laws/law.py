"""The contract of a rate law: how fast one subscriber may receive from one publisher.

1. A session tells its law what it measures: one-way delays, loss events, and when the publisher's
   clock was set.
2. At each decision the session asks the law for the allowed rate, over all of its filters.

Each law is one class; ``choice`` is the only place that looks at the parameter ``law``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from penstock.core.clock import Duration, Instant
from penstock.services.datagram.messages import DecidedBy
from penstock.services.datagram.subscriber.loss_history import LossHistory


class FlowLaw(Protocol):
    """The law of one session, with the state that it needs."""

    @property
    def controls_rates(self) -> bool:
        """Whether subscribers measure and report, and publishers obey reports."""

    @property
    def needs_round_trip(self) -> bool:
        """Whether nothing can be decided before the round trip is known.  The answer to an echo
        passes the congested queue and may be lost several times."""

    @property
    def joins_early(self) -> bool:
        """Whether a session has its flow numbered at once."""

    @property
    def decided_by(self) -> DecidedBy:
        """The rule of the latest decision, if that was a limit."""

    @property
    def reports_changes(self) -> bool:
        """Whether a limiting receiver leaves out reports that would change little."""

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        """Take in the delays, by the two clocks, of messages that arrived together."""

    def clock_was_set(self) -> None:
        """Discard delays measured before: they are by another clock."""

    def loss_event(self, now: Instant) -> None:
        """Take in that a loss event began."""

    def decides_by(self, now: Instant) -> Instant | None:
        """When the law must be asked at the latest; None leaves it to the round trip."""

    def allowed_rate(
        self,
        reception_msgs_per_s: float,
        round_trip_ns: Duration,
        losses: LossHistory,
        now: Instant,
    ) -> float:
        """Messages a second that the session may receive from now on; infinite is no limit.

        A round trip of 0 is not known yet.
        """

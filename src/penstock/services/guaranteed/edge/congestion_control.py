"""PDCC at an edge: measures one live stream, and answers queries about it.

1. An edge is recovering while it has ignored live knowledge, for want of room in its receive
   window, within ``recovering_memory_ns`` (Section 4).
2. A live edge alerts when its smoothed rate is below ``1 - nonrecovering_threshold`` (equation 6),
   or when it is more than ``lag_threshold_ns`` behind the pubend (equation 7).
3. A recovering edge alerts when its smoothed rate is below ``1 + recovering_threshold``
   (equation 8).  Under the improved law it answers every query while it is recovering, so that the
   pubend knows when the recovery is over.
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.laws.congestion_metric import HorizonRate
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.paper_rate_law import AlertReading
from penstock.services.guaranteed.messages import DownstreamCongestionQuery, UpstreamCongestionAlert

STALL_AFTER_SILENCES = 2
"""A stream that missed two silences in a row stands still."""


class EdgeControl:
    """The congestion control of one live stream at an edge."""

    def __init__(
        self,
        edge: str,
        stream: EdgeStream,
        parameters: CongestionParameters,
        *,
        silence_interval_ns: int,
        now: Instant,
    ) -> None:
        """``edge`` is the broker's name, which the alerts carry."""
        self._edge = edge
        self._parameters = parameters
        self.stream = stream
        self.recovering = False
        self.rate = HorizonRate(
            stream.horizon,
            now,
            alpha=parameters.alpha,
            sample_interval_ns=parameters.sample_interval_ns,
            stall_after_ns=STALL_AFTER_SILENCES * silence_interval_ns,
        )

    def advanced(self, now: Instant) -> None:
        """The stream's doubt horizon moved."""
        self.rate.advanced(self.stream.horizon, now)

    def sample(self, now: Instant) -> None:
        """Take a sample of the rate, and see whether the edge is recovering."""
        self.rate.sample(now)
        ignored_at = self.stream.ignored_at
        memory = self._parameters.recovering_memory_ns
        recovering = ignored_at is not None and now - ignored_at < memory
        if recovering != self.recovering:
            self.recovering = recovering
            self.rate.restart(0.0 if recovering else 1.0)
            if recovering:
                self.stream.window.recovery_began()

    def answer(self, query: DownstreamCongestionQuery) -> UpstreamCongestionAlert | None:
        """The alert that this query deserves, if any."""
        parameters = self._parameters
        reading = AlertReading(
            self.rate.smoothed, self._edge, self.rate.latest, self.stream.horizon
        )
        if self.recovering:
            slow = self.rate.smoothed < 1 + parameters.recovering_threshold
            if slow or parameters.law == "improved":
                return self._alert(query, None, reading)
            return None
        slow = self.rate.smoothed < 1 - parameters.nonrecovering_threshold
        behind = self.stream.horizon < query.position - parameters.lag_threshold_ns
        return self._alert(query, reading, None) if slow or behind else None

    def _alert(
        self,
        query: DownstreamCongestionQuery,
        nonrecovering: AlertReading | None,
        recovering: AlertReading | None,
    ) -> UpstreamCongestionAlert:
        return UpstreamCongestionAlert(
            query.pubend, query.epoch, query.sequence, nonrecovering, recovering
        )

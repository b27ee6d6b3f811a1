"""PDCC at an edge: measures one live stream, and answers queries about it.

1. An edge is recovering while it has ignored live knowledge, because its receive window was full,
   within ``recovering_memory_ns`` (Section 4).
2. Whether it answers a query with an alert is decided by the law (``laws/congestion_law``,
   equations 6 to 8).
3. Under the improved law an edge speaks only for streams of which it was given rows within
   ``WANTED_NS``: an edge whose subscribers want nothing of a stream must not slow its publishers,
   however late its silence arrives.
4. An edge does not alert for the time in which there was no way to the source, and says when it is
   itself the limit of its recovery: neither is a congested network.
5. Under the improved law an edge that repairs a gap, while live data behind it arrives in time,
   does not alert unless its requests wait on the way: a change of the way leaves such gaps.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.edge.stream import EdgeStream
from penstock.services.guaranteed.laws.congestion_law import CongestionLaw
from penstock.services.guaranteed.laws.congestion_metric import HorizonRate
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import AlertReading
from penstock.services.guaranteed.messages import DownstreamCongestionQuery, UpstreamCongestionAlert

STALL_AFTER_SILENCES = 2
"""A horizon that missed two silences in a row stands still."""


WANTED_NS: Final[Duration] = 10 * SECOND
"""The receive window: what arrived before it was given to the subscribers long ago."""


class EdgeControl:
    """The congestion control of one live stream at an edge."""

    def __init__(
        self,
        edge: str,
        stream: EdgeStream,
        parameters: CongestionParameters,
        law: CongestionLaw,
        *,
        silence_interval_ns: int,
        now: Instant,
    ) -> None:
        """``edge`` is the broker's name, which the alerts carry."""
        self._edge = edge
        self._parameters = parameters
        self._law = law
        self.stream = stream
        self._window = stream.window
        self.recovering = False
        self._highest_before: Tick = -1
        """Up to where the stream was known when the way to the source changed."""
        self.rate = HorizonRate(
            stream.horizon,
            now,
            alpha=parameters.alpha,
            sample_interval_ns=parameters.sample_interval_ns,
            stall_after_ns=STALL_AFTER_SILENCES * silence_interval_ns,
        )

    def advanced(self, now: Instant) -> None:
        self.rate.advanced(self.stream.horizon, now)

    def path_changed(self) -> None:
        """The way to the source is a new one: what was measured on the one before is over."""
        self._highest_before = self.stream.highest
        self.rate.restart(0.0 if self.recovering else 1.0)

    def sample(self, now: Instant) -> None:
        """Take a sample of the rate, and update whether the edge is recovering."""
        self.rate.sample(now)
        self._update_recovering(now)

    def _update_recovering(self, now: Instant) -> None:
        ignored_at = self.stream.ignored_at
        memory = self._parameters.recovering_memory_ns
        recovering = ignored_at is not None and now - ignored_at < memory
        if recovering != self.recovering:
            self.recovering = recovering
            self.rate.restart(0.0 if recovering else 1.0)
            if recovering:
                self._window.recovery_began(now)

    @property
    def nack_window_ns(self) -> Duration:
        """The size of the stream's NACK window at present."""
        return self._window.size_ns

    def answer(
        self, query: DownstreamCongestionQuery, now: Instant
    ) -> UpstreamCongestionAlert | None:
        """The alert that answers this query, if the law demands one."""
        self._update_recovering(now)
        if not self._is_wanted(now):
            return None
        rate, horizon = self.rate.smoothed, self.stream.horizon
        lag_ns = query.position - horizon
        reading = AlertReading(
            rate, self._edge, self.rate.latest, horizon, congested=self._is_congested(lag_ns)
        )
        if self.recovering:
            alerts = self._law.recovering_edge_alerts(rate)
            return self._alert(query, None, reading) if alerts else None
        if self.stream.highest == self._highest_before:
            # A query overtakes the data: nothing has come over this way yet that could be late.
            return None
        alerts = self._law.live_edge_alerts(rate, lag_ns) and not self._repairs(query.position)
        return self._alert(query, reading, None) if alerts else None

    def _repairs(self, position: Tick) -> bool:
        """Whether only a gap holds the horizon up, and nothing waits for the network."""
        if self._law.repairs_are_congestion or not self.stream.has_gap:
            return False
        if self._window.waits_for_the_network or self.stream.lacks_answers:
            return False
        return not self._law.live_edge_alerts(1.0, position - self.stream.highest)

    def _is_wanted(self, now: Instant) -> bool:
        """Whether this edge speaks for the stream (``only_wanted_streams_alert``)."""
        if not self._law.only_wanted_streams_alert:
            return True
        rows_at = self.stream.rows_at
        return rows_at is not None and now - rows_at <= WANTED_NS

    def _is_congested(self, lag_ns: Duration) -> bool:
        """Whether the network holds this edge up.

        A recovering edge may limit itself (``laws/vegas_nack_window``), and when it is less than a
        second of its recovery behind, its rate over the last second says nothing any more.
        """
        if not self.recovering:
            return True
        a_second_ns = round((1 + self._parameters.recovering_threshold) * SECOND)
        if self.stream.lacks_answers:
            return True
        return self._window.waits_for_the_network and lag_ns > a_second_ns

    def _alert(
        self,
        query: DownstreamCongestionQuery,
        nonrecovering: AlertReading | None,
        recovering: AlertReading | None,
    ) -> UpstreamCongestionAlert:
        return UpstreamCongestionAlert(
            query.pubend, query.epoch, query.sequence, nonrecovering, recovering
        )

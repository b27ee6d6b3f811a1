"""The rate law of PDCC (Section 3.1, equations 1 to 3), with the paper's open points settled.

1. An alert lowers the rate, unless it answers a query that was sent before the last decrease could
   take effect, or every rate in it is better than in the alert before (congestion is clearing).
2. The first decrease after an increase is gentle: it goes back towards the rate after the last
   decrease, ``r_decr`` (equation 2).  A decrease that follows a decrease halves (equation 3).
   ``r_decr`` is 0 at first.
3. The rate that is lowered is the lesser of the limit and the observed publication rate.
4. After ``no_alert_interval_ns`` without alerts the rate rises once in that interval, by
   ``increase_min`` or by a share of what was gained since the last decrease (equation 1), as long
   as publications wait.
5. The rate never falls below a floor; a pubend that publishes nothing could not measure that
   congestion is over.
"""

from __future__ import annotations

from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import Reading, Rule, Verdict, slower_edge


class PaperRateLaw:
    """The limit of one pubend under the paper's law."""

    def __init__(self, parameters: CongestionParameters) -> None:
        self.limit_msgs_per_s: float | None = None
        self.rule = Rule.NONE
        self.verdict: Verdict | None = None
        self._parameters = parameters
        self._after_decrease = 0.0
        self._decreased_before_query = 0
        self._alerted_at: Instant | None = None
        self._increased_at: Instant = 0
        self._before: dict[str, float] = {}

    def alert(
        self, reading: Reading, *, observed: float, position: Tick, query: int, now: Instant
    ) -> bool:
        """Equations 2 and 3."""
        improving = self._improving(reading, now)
        self._alerted_at = now
        if reading.sequence < self._decreased_before_query or improving:
            return False
        parameters = self._parameters
        limit = self.limit_msgs_per_s
        old = observed if limit is None else min(limit, observed)
        if old > self._after_decrease:
            gentle = self._after_decrease + parameters.decrease_gentle * (
                old - self._after_decrease
            )
            new = max(parameters.decrease * old, gentle)
            self.rule = Rule.PAPER_DECREASE
        else:
            new = parameters.decrease * old
            self.rule = Rule.PAPER_REPEATED_DECREASE
        self.limit_msgs_per_s = max(parameters.floor_msgs_per_s, new)
        self._after_decrease = self.limit_msgs_per_s
        self._decreased_before_query = query
        self.verdict = slower_edge(reading)
        return True

    def _improving(self, reading: Reading, now: Instant) -> bool:
        """Whether every rate in the alert is higher than the last one of its kind."""
        interval = self._parameters.no_alert_interval_ns
        if self._alerted_at is None or now - self._alerted_at >= interval:
            self._before.clear()
        rose = []
        for kind, worst in (
            ("nonrecovering", reading.nonrecovering),
            ("recovering", reading.recovering),
        ):
            if worst is not None:
                before = self._before.get(kind)
                rose.append(before is not None and worst.rate > before)
                self._before[kind] = worst.rate
        return bool(rose) and all(rose)

    def elapse(self, *, observed: float, position: Tick, waiting: bool, now: Instant) -> bool:
        """Equation 1."""
        interval = self._parameters.no_alert_interval_ns
        limit = self.limit_msgs_per_s
        if limit is None or not waiting or self._alerted_at is None:
            return False
        if now - self._alerted_at < interval or now - self._increased_at < interval:
            return False
        share = self._parameters.increase_share * (limit - self._after_decrease)
        self.limit_msgs_per_s = limit + max(self._parameters.increase_min_msgs_per_s, share)
        self._increased_at = now
        self.rule = Rule.PAPER_INCREASE
        return True

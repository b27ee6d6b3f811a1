"""PDCC at a pubend: asks, listens, limits, and can say why.

1. A query goes down the tree every ``query_interval_ns``.  The pubends of a broker ask one after
   another within the interval: if all asked at once, all would slow down for the same congestion,
   although one of them may be enough.
2. The alerts that come back, and time, move the limit as the rate law says.
3. The gate lets publications pass at the limit, evenly; those that wait are not acknowledged, which
   is what slows their publishers (Section 4).
4. Every change of the limit is kept with its rule and its cause, for whoever asks.
"""

from __future__ import annotations

from collections import deque

import msgspec

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Tick
from penstock.mechanisms.rate_meter import RateHistory
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.improved_rate_law import ImprovedRateLaw
from penstock.services.guaranteed.laws.paper_rate_law import (
    AlertReading,
    PaperRateLaw,
    RateLaw,
    Reading,
)
from penstock.services.guaranteed.messages import (
    DownstreamCongestionQuery,
    ThrottleNotice,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.source.admission import Admission

KEPT_CHANGES = 32
"""How many changes of the limit are kept for explanation."""


class Change(msgspec.Struct, frozen=True):
    """One change of a limit."""

    at: Instant
    allowed_msgs_per_s: float
    observed_msgs_per_s: float
    rule: str
    cause: str


class PublisherControl:
    """The congestion control of one pubend."""

    def __init__(
        self, pubend: str, parameters: CongestionParameters, now: Instant, query_phase: float
    ) -> None:
        """``now`` is the epoch of this start of the pubend."""
        self.history = RateHistory()
        self.admission = Admission()
        self.since: Instant = now
        self.cause = ""
        self.changes: deque[Change] = deque(maxlen=KEPT_CHANGES)
        self._pubend = pubend
        self._parameters = parameters
        self._epoch = now
        self._sequence = 0
        first_query = now + round(query_phase * parameters.query_interval_ns)
        self._query_at: Instant | None = first_query if parameters.pdcc else None
        self._law: RateLaw = (
            PaperRateLaw(parameters)
            if parameters.law == "paper"
            else ImprovedRateLaw(parameters, self.history)
        )
        self.last_alert: Reading | None = None
        self.last_alert_at: Instant | None = None

    @property
    def limit_msgs_per_s(self) -> float | None:
        """The limit in force, or None."""
        return self.admission.rate_msgs_per_s

    @property
    def rule(self) -> str:
        """Which rule acted last."""
        return self._law.rule

    def published(self, tick: Tick, rows: int, now: Instant) -> None:
        """Rows passed the gate and stand at a tick."""
        self.history.add(tick, rows)
        self.admission.passed(rows, now)

    def alert(self, message: UpstreamCongestionAlert, position: Tick, now: Instant) -> bool:
        """An alert arrived; True if the limit changed."""
        if message.epoch != self._epoch or not self._parameters.pdcc:
            return False
        reading = Reading(message.sequence, message.nonrecovering, message.recovering)
        self.last_alert, self.last_alert_at = reading, now
        observed = self.history.rate(now)
        changed = self._law.alert(
            reading, observed=observed, position=position, query=self._sequence, now=now
        )
        return changed and self._apply(_describe(reading), observed, now)

    def elapse(self, position: Tick, waiting: bool, now: Instant) -> bool:
        """Time passed; True if the limit changed."""
        if not self._parameters.pdcc:
            return False
        observed = self.history.rate(now)
        changed = self._law.elapse(observed=observed, position=position, waiting=waiting, now=now)
        return changed and self._apply(self.cause, observed, now)

    def _apply(self, cause: str, observed: float, now: Instant) -> bool:
        limit = self._law.limit_msgs_per_s
        if self.admission.rate_msgs_per_s is None or limit is None:
            self.since = now
        self.cause = cause if limit is not None else ""
        self.admission.set_rate(limit, now)
        self.changes.append(Change(now, limit or 0.0, observed, self._law.rule, self.cause))
        return True

    def query_due(self, position: Tick, now: Instant) -> DownstreamCongestionQuery | None:
        """The query to send now, if it is time for one."""
        if self._query_at is None or now < self._query_at:
            return None
        self._query_at = now + self._parameters.query_interval_ns
        query = DownstreamCongestionQuery(self._pubend, self._epoch, self._sequence, position)
        self._sequence += 1
        return query

    def next_deadline(self, *, waiting: bool) -> Instant | None:
        """When a query is due or, if publications wait, the gate opens."""
        return earliest(self._query_at, self.admission.next_pass() if waiting else None)

    def notice(self, now: Instant) -> ThrottleNotice:
        """What the publishers are told."""
        limit = self.limit_msgs_per_s or 0.0
        observed = self.history.rate(now)
        return ThrottleNotice(self._pubend, limit, observed, self.since, self.rule, self.cause)


def _describe(reading: Reading) -> str:
    """The cause in words: who does not keep up, and the fullest link on the way there."""
    worst, kind = reading.nonrecovering, "falls behind"
    recovering = reading.recovering
    if worst is None or (recovering is not None and recovering.rate < worst.rate):
        worst, kind = recovering, "is recovering"
    assert worst is not None
    return f"broker {worst.edge} {kind} at {worst.rate:.2f} ticks/tick{_where(worst)}"


def _where(worst: AlertReading) -> str:
    if not worst.link:
        return ""
    return f"; link {worst.link} has {worst.link_bytes} bytes waiting"

"""PDCC at a pubend: sends queries, applies the rate law to the alerts, and explains the limit.

1. A query goes down the tree every ``query_interval_ns``.  The pubends of a broker send theirs one
   after another within the interval: if all of them asked at once, all would slow down for the same
   congestion, although one may be enough.
2. The alerts that come back, and time, move the limit as the rate law says.
3. The admission gate lets publications pass at the limit, evenly spaced; those that wait are not
   acknowledged, which slows their publishers (Section 4).
4. Every change of the limit is kept with its rule and its cause.
"""

from __future__ import annotations

from collections import deque

import msgspec

from penstock.core.clock import Instant, earliest
from penstock.core.intervals import Tick
from penstock.mechanisms.rate_meter import RateHistory
from penstock.services.guaranteed.laws.congestion_law import congestion_law
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import RateLaw, Reading, Rule
from penstock.services.guaranteed.messages import (
    DownstreamCongestionQuery,
    ThrottleNotice,
    UpstreamCongestionAlert,
)
from penstock.services.guaranteed.source.admission import Admission
from penstock.services.guaranteed.source.throttle_cause import (
    NO_CAUSE,
    ThrottleCause,
    throttle_cause,
)

KEPT_CHANGES = 32
"""How many changes of the limit ``why`` reports."""


class Change(msgspec.Struct, frozen=True):
    """One change of a limit; ``rule`` and ``cause`` are sentences, the rest is for programs."""

    at: Instant
    allowed_msgs_per_s: float
    observed_msgs_per_s: float
    rule: str
    cause: str
    rule_code: str = ""
    bottleneck_broker: str = ""
    bottleneck_link: str = ""


class PublisherControl:
    """The congestion control of one pubend."""

    def __init__(
        self, pubend: str, parameters: CongestionParameters, now: Instant, query_phase: float
    ) -> None:
        """``now`` is the epoch of this start of the pubend."""
        self.history = RateHistory()
        self.admission = Admission()
        self.since: Instant = now
        self.cause = NO_CAUSE
        self.changes: deque[Change] = deque(maxlen=KEPT_CHANGES)
        self.pubend = pubend
        self._parameters = parameters
        self._epoch = now
        self._sequence = 0
        first_query = now + round(query_phase * parameters.query_interval_ns)
        self._query_at: Instant | None = first_query if parameters.pdcc else None
        self._law: RateLaw = congestion_law(parameters).rate_law(self.history)
        self.last_alert: Reading | None = None
        self.last_alert_at: Instant | None = None

    @property
    def limit_msgs_per_s(self) -> float | None:
        """The limit in force, or None."""
        return self.admission.rate_msgs_per_s

    @property
    def rule(self) -> Rule:
        """Which rule acted last."""
        return self._law.rule

    def published(self, tick: Tick, rows: int, now: Instant) -> None:
        """Rows passed the gate and were placed at a tick."""
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
        return changed and self._apply(throttle_cause(self._law.verdict), observed, now)

    def elapse(self, position: Tick, waiting: bool, now: Instant) -> bool:
        """Time passed; True if the limit changed."""
        if not self._parameters.pdcc:
            return False
        observed = self.history.rate(now)
        changed = self._law.elapse(observed=observed, position=position, waiting=waiting, now=now)
        return changed and self._apply(self.cause, observed, now)

    def _apply(self, cause: ThrottleCause, observed: float, now: Instant) -> bool:
        limit = self._law.limit_msgs_per_s
        if self.admission.rate_msgs_per_s is None or limit is None:
            self.since = now
        self.cause = cause = cause if limit is not None else NO_CAUSE
        self.admission.set_rate(limit, now)
        rule = self._law.rule
        change = Change(
            at=now,
            allowed_msgs_per_s=limit or 0.0,
            observed_msgs_per_s=observed,
            rule=rule.sentence,
            cause=cause.sentence,
            rule_code=rule.code,
            bottleneck_broker=cause.broker,
            bottleneck_link=cause.link,
        )
        self.changes.append(change)
        return True

    def query_due(self, position: Tick, now: Instant) -> DownstreamCongestionQuery | None:
        """The query to send now, if it is time for one."""
        if self._query_at is None or now < self._query_at:
            return None
        self._query_at = now + self._parameters.query_interval_ns
        query = DownstreamCongestionQuery(self.pubend, self._epoch, self._sequence, position)
        self._sequence += 1
        return query

    def next_deadline(self, *, waiting: bool) -> Instant | None:
        """When a query is due or, if publications wait, the gate opens."""
        return earliest(self._query_at, self.admission.next_pass() if waiting else None)

    def notice(self, now: Instant) -> ThrottleNotice:
        """The notice for the publishers."""
        rule, cause = self._law.rule, self.cause
        return ThrottleNotice(
            pubend=self.pubend,
            allowed_msgs_per_s=self.limit_msgs_per_s or 0.0,
            observed_msgs_per_s=self.history.rate(now),
            since=self.since,
            rule=rule.sentence,
            cause=cause.sentence,
            rule_code=rule.code,
            bottleneck_broker=cause.broker,
            bottleneck_link=cause.link,
        )

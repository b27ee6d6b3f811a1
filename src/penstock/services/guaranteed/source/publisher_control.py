"""PDCC at a pubend: sends queries, applies the rate law to the alerts, and explains the limit.

1. A query goes down the tree every ``query_interval_ns``.  The pubends of a broker send theirs one
   after another within the interval: if all of them asked at once, all would slow down for the same
   congestion, although one may be enough.
2. The alerts that come back, and time, move the limit as the rate law says.
3. The admission gate lets publications pass at the limit, evenly spaced; those that wait are not
   acknowledged, which slows their publishers (Section 4).
4. The gate of the broker's own links holds back what they do not take (``link_gate``).
5. Every change of the limit is kept with its rule and its cause.
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
from penstock.services.guaranteed.source.link_gate import LinkGate
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
        self._law_cause = NO_CAUSE
        self._at_link_msgs_per_s = 0.0
        self.changes: deque[Change] = deque(maxlen=KEPT_CHANGES)
        self.pubend = pubend
        self._parameters = parameters
        self._epoch = now
        self._sequence = 0
        first_query = now + round(query_phase * parameters.query_interval_ns)
        self._query_at: Instant | None = first_query if parameters.pdcc else None
        law = congestion_law(parameters)
        self._law: RateLaw = law.rate_law(self.history)
        self.links = LinkGate(pubend, enabled=law.links_are_fair and parameters.pdcc)
        self._waits_for_link = False
        self._row_bytes = 0.0
        self.last_alert: Reading | None = None
        self.last_alert_at: Instant | None = None

    @property
    def limit_msgs_per_s(self) -> float | None:
        """The limit in force, or None."""
        return self.admission.rate_msgs_per_s

    @property
    def allowed_msgs_per_s(self) -> float:
        """What publishers may send: the limit, or what a full link takes; 0 is everything."""
        if self._waits_for_link:
            return self._at_link_msgs_per_s
        return self.limit_msgs_per_s or 0.0

    @property
    def throttled(self) -> bool:
        """Whether publishers are slowed down at present."""
        return self._waits_for_link or self.limit_msgs_per_s is not None

    @property
    def rule(self) -> Rule:
        """Which rule acted last."""
        return Rule.FULL_LINK if self._waits_for_link else self._law.rule

    def published(self, tick: Tick, rows: int, count_bytes: int, now: Instant) -> None:
        """Rows passed the gate and were placed at a tick."""
        self.history.add(tick, rows)
        self.admission.passed(rows, now)
        self.links.passed(count_bytes, now)
        self._row_bytes = count_bytes / rows
        self.links.pace.floor_bytes_per_s = self._row_bytes * self._parameters.floor_msgs_per_s

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
        self.links.pace.release_unless_needed(self._published_bytes_per_s(observed), now)
        changed = self._law.elapse(observed=observed, position=position, waiting=waiting, now=now)
        quiet_ns = now - (self.last_alert_at or now)
        return changed and self._apply(self._law_cause.past(quiet_ns), observed, now)

    def links_measured(self, broker: str, waits: bool, unsent: int, now: Instant) -> bool:
        """The links were measured; True if there is something new to tell.

        ``waits`` tells whether publications wait, ``unsent`` how much is on its way to the disk.
        """
        waits_for_links = waits and self.admission.may_pass(now)
        if not self.links.explain(broker, waits_for_links, unsent, now):
            return False
        if not self.throttled:
            self.since = now
        full = self.links.full
        self._waits_for_link = full is not None
        observed = self.history.rate(now)
        self._at_link_msgs_per_s = observed
        if full is not None:
            self.cause = ThrottleCause(
                broker=full.name.partition("->")[2],
                link=full.name,
                link_bytes=full.waiting,
                link_bytes_per_s=full.rate_bytes_per_s,
            )
        else:
            self.cause = self._law_cause if self.limit_msgs_per_s is not None else NO_CAUSE
        self._note_change(observed, now)
        return True

    def _published_bytes_per_s(self, observed: float) -> float:
        return observed * self._row_bytes

    def _apply(self, cause: ThrottleCause, observed: float, now: Instant) -> bool:
        limit = self._law.limit_msgs_per_s
        if not self._waits_for_link and (self.limit_msgs_per_s is None or limit is None):
            self.since = now
        self._law_cause = cause if limit is not None else NO_CAUSE
        self.admission.set_rate(limit, now)
        if self._waits_for_link:
            # The link is the narrower of the two; what the law says is told when it is not.
            return False
        self.cause = self._law_cause
        self._note_change(observed, now)
        return True

    def _note_change(self, observed: float, now: Instant) -> None:
        rule, cause = self.rule, self.cause
        self.changes.append(
            Change(
                at=now,
                allowed_msgs_per_s=self.allowed_msgs_per_s,
                observed_msgs_per_s=observed,
                rule=rule.sentence,
                cause=cause.sentence,
                rule_code=rule.code,
                bottleneck_broker=cause.broker,
                bottleneck_link=cause.link,
            )
        )

    def query_due(self, position: Tick, now: Instant) -> DownstreamCongestionQuery | None:
        """The query to send now, if it is time for one."""
        if self._query_at is None or now < self._query_at:
            return None
        self._query_at = now + self._parameters.query_interval_ns
        query = DownstreamCongestionQuery(self.pubend, self._epoch, self._sequence, position)
        self._sequence += 1
        return query

    def next_deadline(self, *, waiting: bool) -> Instant | None:
        """When a query is due or, if publications wait, the gates open."""
        if not waiting:
            return self._query_at
        opens_at = max(self.admission.next_pass() or 0, self.links.holds_until())
        return earliest(self._query_at, opens_at or None)

    def notice(self, now: Instant) -> ThrottleNotice:
        """The notice for the publishers."""
        rule, cause = self.rule, self.cause
        return ThrottleNotice(
            pubend=self.pubend,
            allowed_msgs_per_s=self.allowed_msgs_per_s,
            observed_msgs_per_s=self.history.rate(now),
            since=self.since,
            rule=rule.sentence,
            cause=cause.sentence,
            rule_code=rule.code,
            bottleneck_broker=cause.broker,
            bottleneck_link=cause.link,
        )

"""The improved rate law: set the limit from the measurements that an alert carries.

The paper's law searches: it halves until alerts stop, and then rises slowly.  An alert tells more
than that an edge is slow, and this law uses it:

1. *Match.*  A live edge that falls behind was given, in the last second, what the stream holds
   between its horizon then and now: the capacity of the way to it.  The limit becomes that,
   less what drains the backlog in ``drain_ns``, but at least a share of the capacity, so that live
   traffic goes on.
2. *Share.*  A recovering edge needs ``1 + recovering_threshold`` tick seconds a second, and a
   margin, since a rate that is measured over a second varies.  What it lacks, in messages, is
   subtracted from the publication rate; what it has in excess is given back, a part at a time.  At
   least a share of the rate before the recovery stays for live traffic.  A recovering edge answers
   every query, so the pubend knows when the recovery ends.
3. *Return.*  When the backlog is drained the limit returns to the capacity that was measured; when
   a recovery is over, to the limit before it.
4. *Probe.*  Without alerts the limit rises by steps that double each time, so a new optimum is
   found in the logarithm of its distance; an alert makes the steps small again.  A limit of twice
   what is published is removed, though publications wait: something else holds them.
5. *Nothing is congested.*  An edge may be late because a processor is busy: its horizon then rests
   and rushes.  A live edge counts only if bytes wait on a link on the way to it at two queries in
   a row, if it is late by ``lag_threshold_ns``, or if it alerts for ``UNEXPLAINED_NS`` without a
   break and is later than at its first alert, by as much as ``nonrecovering_threshold`` makes of
   that time.  The smoothed rate alone varies with the lengths of frames.
6. *Held up.*  Publishers make way for a recovering edge only if the network holds it up: if the
   edge says so, or if bytes wait on the way to it at two queries in a row.  Before its first
   requests are answered, an edge cannot know.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.intervals import Tick
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.rate_law import (
    AlertReading,
    PublicationRecord,
    Reading,
    Rule,
    Verdict,
)

PROBE_SHARE: Final = 0.02
"""The first step of a probe, as a share of the limit: below the threshold that raises an alert."""

SHARE_MARGIN: Final = 0.1
"""How far above its threshold a recovering edge is kept, in tick seconds a second."""

GIVE_BACK: Final = 0.25
"""The part of an excess that is given back at once.  The limit is lowered once for each decrease
and raised for each query, so giving back everything would outweigh the decreases."""

THIN: Final = 0.5
"""The stream at an edge's horizon may be thin because a burst came only later.  Below this share of
the present publication rate, what the edge received there says nothing about its capacity; the
limit then falls to this share, and the next alert tells more."""

UNEXPLAINED_NS: Final[Duration] = 4 * SECOND
"""Queues may wait where no broker sees them, in a kernel or a switch.  An edge that is slow behind
such a queue alerts at every query; in four of them it is later than any time slice explains, and
its smoothed rate has forgotten a single rest (0.9 ** 40 is 0.015)."""

RELEASE_FACTOR: Final = 2.0
"""A limit of twice the publication rate has no effect, and is removed."""


class _Standing:
    """Whether bytes waited on the way to an edge at two queries in a row.

    Several edges answer one query, and their alerts may come one after another.
    """

    __slots__ = ("_before", "_sequence", "_waited")

    def __init__(self) -> None:
        self._sequence = -1
        self._before = self._waited = False

    def stands(self, link_bytes: int, sequence: int) -> bool:
        """So much waited when the alert to this query passed."""
        if sequence != self._sequence:
            self._sequence = sequence
            self._before, self._waited = self._waited, False
        self._waited = link_bytes > 0
        return self._before and self._waited


class ImprovedRateLaw:
    """The limit of one pubend under the improved law."""

    def __init__(self, parameters: CongestionParameters, history: PublicationRecord) -> None:
        self.limit_msgs_per_s: float | None = None
        self.rule = Rule.NONE
        self.verdict: Verdict | None = None
        self._parameters = parameters
        self._history = history
        self._capacity: float | None = None
        self._before_recovery: float | None = None
        self._floor = 0.0
        self._recovering = False
        self._bytes_wait = _Standing()
        self._recovering_heard_at: Instant = 0
        self._alerted_at: Instant = 0
        self._probed_at: Instant = 0
        self._probe = PROBE_SHARE
        self._decreased_before_query = 0
        self._live_bytes_wait = _Standing()
        self._unexplained_since: Instant = 0
        self._late_then: Duration = 0
        """How late the edge was at its first alert."""
        self._unexplained_heard_at: Instant = -parameters.no_alert_interval_ns

    def alert(
        self, reading: Reading, *, observed: float, position: Tick, query: int, now: Instant
    ) -> bool:
        """Match the slowest live edge, and share with the slowest recovering one."""
        if reading.recovering is not None:
            self._recovering_heard_at = now
            if not self._recovering:
                self._recovery_begins(reading.recovering, observed)
        if reading.sequence < self._decreased_before_query:
            return False
        targets: list[tuple[float, Rule, AlertReading]] = []
        if reading.nonrecovering is not None and self._is_congestion(
            reading.nonrecovering, reading.sequence, position, now
        ):
            self._alerted_at = now
            self._probe = PROBE_SHARE
            match = self._match(reading.nonrecovering, observed, position)
            targets.append((match, Rule.MATCH, reading.nonrecovering))
        if reading.recovering is not None:
            held_up = self._held_up(reading.recovering, reading.sequence)
            share = self._share(reading.recovering, observed, held_up)
            if share is not None:
                targets.append((share, Rule.SHARE, reading.recovering))
        if not targets:
            return False
        new, self.rule, worst = min(targets, key=lambda target: target[0])
        self.verdict = Verdict(worst, recovering=self.rule is Rule.SHARE)
        new = max(new, self._parameters.floor_msgs_per_s)
        if self.limit_msgs_per_s is None or new < self.limit_msgs_per_s:
            self._decreased_before_query = query
        self.limit_msgs_per_s = new
        return True

    def _is_congestion(
        self, worst: AlertReading, sequence: int, position: Tick, now: Instant
    ) -> bool:
        """Whether a live edge falls behind for longer than scheduling explains (rule 5)."""
        parameters = self._parameters
        late = position - worst.horizon
        if now - self._unexplained_heard_at >= parameters.no_alert_interval_ns:
            self._unexplained_since = now
            self._late_then = late
            self._live_bytes_wait = _Standing()
        self._unexplained_heard_at = now
        stands = self._live_bytes_wait.stands(worst.link_bytes, sequence)
        if stands or late > parameters.lag_threshold_ns:
            return True
        since = now - self._unexplained_since
        fell_behind = late - self._late_then >= parameters.nonrecovering_threshold * since
        return since >= UNEXPLAINED_NS and fell_behind

    def _recovery_begins(self, worst: AlertReading, observed: float) -> None:
        """Note the limit to return to.

        The answers to a recovering edge fill the links before its first alert arrives, so the rate
        may have fallen already: the rate when the edge stopped counts as well.
        """
        before = max(observed, self._history.density(worst.horizon))
        limit = self.limit_msgs_per_s
        self._recovering = True
        self._bytes_wait = _Standing()
        self._before_recovery = None if limit is None else max(limit, before)
        self._floor = before * self._parameters.live_floor_share

    def _match(self, worst: AlertReading, observed: float, position: Tick) -> float:
        density = self._history.density(worst.horizon)
        passed = round(worst.latest_rate * SECOND)
        capacity = self._history.count_within(worst.horizon - passed, worst.horizon)
        if density < THIN * observed:
            capacity = max(capacity, THIN * observed)
        backlog = self._history.count_between(worst.horizon, position)
        self._capacity = capacity
        drained = capacity - backlog * SECOND / self._parameters.drain_ns
        return max(drained, capacity * self._parameters.live_floor_share)

    def _held_up(self, worst: AlertReading, sequence: int) -> bool:
        """Whether the network is the limit of a recovery (rule 6)."""
        stands = self._bytes_wait.stands(worst.link_bytes, sequence)
        return worst.congested or stands

    def _share(self, worst: AlertReading, observed: float, held_up: bool) -> float | None:
        threshold = 1 + self._parameters.recovering_threshold
        needed = threshold + SHARE_MARGIN
        density = self._history.density(worst.horizon)
        limit = self.limit_msgs_per_s
        if limit is None and worst.latest_rate >= threshold:
            return None
        now_published = observed if limit is None else min(limit, observed)
        if not held_up:
            # The edge will ask for more, and does not need what publishers would leave to it.
            return None if limit is None else now_published + GIVE_BACK * density
        lacking = (needed - worst.latest_rate) * density
        if lacking < 0:
            lacking *= GIVE_BACK
        return max(now_published - lacking, self._floor)

    def _release(self, limit: float, observed: float) -> bool:
        """Remove a limit that has no effect; True if it was removed."""
        if limit <= RELEASE_FACTOR * observed:
            return False
        self.limit_msgs_per_s = None
        self.rule = Rule.RELEASE
        return True

    def elapse(self, *, observed: float, position: Tick, waiting: bool, now: Instant) -> bool:
        """Return to the measured capacity, then probe for more."""
        quiet = self._parameters.no_alert_interval_ns
        if self._recovering and now - self._recovering_heard_at >= quiet:
            self._recovering = False
            self.limit_msgs_per_s = self._before_recovery
            self.rule = Rule.RETURN_AFTER_RECOVERY
            return True
        limit = self.limit_msgs_per_s
        if limit is None or self._recovering or now - self._alerted_at < quiet:
            return False
        if not waiting:
            return self._release(limit, observed)
        if self._capacity is not None and limit < self._capacity:
            self.limit_msgs_per_s = self._capacity
            self._probed_at = now
            self.rule = Rule.RETURN_TO_CAPACITY
            return True
        if now - self._probed_at < quiet:
            return False
        if self._release(limit, observed):
            return True
        self._probed_at = now
        self.limit_msgs_per_s = limit * (1 + self._probe)
        self._probe *= 2
        self.rule = Rule.PROBE
        return True

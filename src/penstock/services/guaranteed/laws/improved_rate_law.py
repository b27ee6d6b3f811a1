"""The improved rate law: go where the measurements say, at once.

The paper's law feels its way: it halves until alerts stop, and then creeps up.  An alert tells
more than that something is slow, and this law uses it:

1. *Match.*  A live edge that falls behind receives ``latest rate × density of the stream where it
   stands`` messages a second: the capacity of the way to it.  The limit becomes that capacity, less
   what drains the backlog in ``drain_ns``; a share of it stays for live traffic.
2. *Share.*  A recovering edge needs ``1 + recovering_threshold`` tick seconds a second, and a
   margin, since a rate that is measured over a second wavers.  What it lacks, in messages, is taken
   from the publication rate; what it has too much is given back, a part at a time.  A share of the
   rate before stays for live traffic.  A recovering edge answers every query, so the end of a
   recovery is known.
3. *Return.*  When the backlog is drained the limit goes back to the capacity that was measured;
   when a recovery is over, to what it was before.
4. *Probe.*  Without alerts the limit rises by steps that double each time, so a new optimum is
   found in the logarithm of its distance; an alert makes the steps small again.
"""

from __future__ import annotations

from penstock.core.clock import SECOND, Instant
from penstock.core.intervals import Tick
from penstock.mechanisms.rate_meter import RateHistory
from penstock.services.guaranteed.laws.congestion_parameters import CongestionParameters
from penstock.services.guaranteed.laws.paper_rate_law import AlertReading, Reading

PROBE_SHARE = 0.02
"""The first step of a probe, as a share of the limit: below the threshold that raises an alert."""

SHARE_MARGIN = 0.1
"""How far above its threshold a recovering edge is kept, in tick seconds a second."""

GIVE_BACK = 0.25
"""What of an excess is given back at once: taking is answered once for each decrease, giving for
each query, so that giving everything would win."""

THIN = 0.5
"""Where an edge stands the stream may be thin, because a burst only followed.  Below this share of
what is published now, what it received there says nothing about what it can receive; the limit then
falls to this share, and the next alert tells more."""

RELEASE_FACTOR = 2.0
"""A limit that is twice what is published limits nothing, and is dropped."""


class ImprovedRateLaw:
    """The improved law."""

    def __init__(self, parameters: CongestionParameters, history: RateHistory) -> None:
        """No limit at first."""
        self.limit_msgs_per_s: float | None = None
        self.rule = ""
        self._parameters = parameters
        self._history = history
        self._capacity: float | None = None
        self._before_recovery: float | None = None
        self._floor = 0.0
        self._recovering = False
        self._recovering_heard_at: Instant = 0
        self._alerted_at: Instant = 0
        self._probed_at: Instant = 0
        self._probe = PROBE_SHARE
        self._decreased_before_query = 0

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
        targets: list[tuple[float, str]] = []
        if reading.nonrecovering is not None:
            self._alerted_at = now
            self._probe = PROBE_SHARE
            match = self._match(reading.nonrecovering, observed, position)
            targets.append((match, "match the slowest edge"))
        if reading.recovering is not None:
            share = self._share(reading.recovering, observed)
            if share is not None:
                targets.append((share, "share with a recovering edge"))
        if not targets:
            return False
        new, self.rule = min(targets)
        new = max(new, self._parameters.floor_msgs_per_s)
        if self.limit_msgs_per_s is None or new < self.limit_msgs_per_s:
            self._decreased_before_query = query
        self.limit_msgs_per_s = new
        return True

    def _recovery_begins(self, worst: AlertReading, observed: float) -> None:
        """Note what to return to.

        The answers to a recovering edge fill the way before its first alert says why, so the rate
        may have fallen already: what was published when the edge stopped counts as well.
        """
        before = max(observed, self._history.density(worst.horizon))
        limit = self.limit_msgs_per_s
        self._recovering = True
        self._before_recovery = None if limit is None else max(limit, before)
        self._floor = before * self._parameters.live_floor_share

    def _match(self, worst: AlertReading, observed: float, position: Tick) -> float:
        density = self._history.density(worst.horizon)
        capacity = worst.latest_rate * density
        if density < THIN * observed:
            capacity = max(capacity, THIN * observed)
        backlog = self._history.count_between(worst.horizon, position)
        self._capacity = capacity
        drained = capacity - backlog * SECOND / self._parameters.drain_ns
        return max(drained, capacity * self._parameters.live_floor_share)

    def _share(self, worst: AlertReading, observed: float) -> float | None:
        threshold = 1 + self._parameters.recovering_threshold
        needed = threshold + SHARE_MARGIN
        density = self._history.density(worst.horizon)
        limit = self.limit_msgs_per_s
        if limit is None and worst.latest_rate >= threshold:
            return None
        now_published = observed if limit is None else min(limit, observed)
        lacking = (needed - worst.latest_rate) * density
        if lacking < 0:
            lacking *= GIVE_BACK
        return max(now_published - lacking, self._floor)

    def elapse(self, *, observed: float, position: Tick, waiting: bool, now: Instant) -> bool:
        """Return to what was measured, then probe for more."""
        quiet = self._parameters.no_alert_interval_ns
        if self._recovering and now - self._recovering_heard_at >= quiet:
            self._recovering = False
            self.limit_msgs_per_s = self._before_recovery
            self.rule = "return to the rate before the recovery"
            return True
        limit = self.limit_msgs_per_s
        if limit is None or self._recovering or now - self._alerted_at < quiet:
            return False
        if not waiting:
            if limit > RELEASE_FACTOR * observed:
                self.limit_msgs_per_s = None
                self.rule = "release: nobody needs the limit"
                return True
            return False
        if self._capacity is not None and limit < self._capacity:
            self.limit_msgs_per_s = self._capacity
            self._probed_at = now
            self.rule = "return to the measured capacity"
            return True
        if now - self._probed_at < quiet:
            return False
        self._probed_at = now
        self.limit_msgs_per_s = limit * (1 + self._probe)
        self._probe *= 2
        self.rule = "probe for more"
        return True

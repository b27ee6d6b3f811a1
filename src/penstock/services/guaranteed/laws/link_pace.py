"""The pace of a pubend whose data waits on a link further down its tree.

A relay on whose link live data of a pubend waits reports the queue and the rate at which the link
takes it, five times a second (``relay/link_reports``).  A report says exactly what an alert of an
edge lets the rate law only estimate, and several seconds earlier.

1. The pace is the rate of the link, more while less than ``TARGET_NS`` of it waits and less while
   more does, so that the difference is gone after ``SETTLE_NS``: a proportional controller, which
   is stable while reports take less than ``SETTLE_NS`` to arrive.
2. A report without a rate comes from a queue that was empty a moment ago.  While less than
   ``TARGET_NS`` of the pace waits, a message waits for its turn and the link takes more: nothing
   changes.  Otherwise the pace stays; a pubend without one stops for ``HOLD_NS``, until the rate is
   known, if more waits than a burst (``BURST_BYTES``).  If no report with a rate follows, the link
   has taken the burst, and only twice as much stops the pubend again, or ``LARGEST_BURST_BYTES``:
   a queue has a bound, what does not fit is lost, and then no more waits than before.
3. Of several links the slowest counts.  A link that has not reported for ``QUIET_NS`` is not full
   any more.
4. When no link is full the pace doubles every ``DOUBLE_NS``, until there are reports again or it is
   ``RELEASE_FACTOR`` times what is published: then it has no effect, and ends.
5. A publication passes when those before it are paid for: at the pace, as it changes, not at the
   pace of the moment in which they passed.
"""

from __future__ import annotations

from math import log, log2
from typing import Final, NamedTuple

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.guaranteed.laws.link_backlog import (
    BURST_BYTES,
    FIRST_BYTES,
    GROWTH,
    TARGET_NS,
)

LARGEST_BURST_BYTES: Final = 3 * FIRST_BYTES
"""More than what may be sent before anything is known (``FIRST_BYTES``) and has doubled once; a
choice.  A queue with a smaller bound overflows unnoticed until its rate is known."""

SETTLE_NS: Final[Duration] = 2 * SECOND
"""The time constant of the controller: t_nouca of the paper, within which a limit is not raised
either."""

LEAST_SHARE: Final = 0.1
"""A queue is never drained by stopping the publishers: this share of the rate goes on."""

MOST_SHARE: Final = 1.1
"""An empty queue is filled with a tenth more than the link takes, in two seconds."""

QUIET_NS: Final[Duration] = 600 * MILLISECOND
"""Three reports that did not come."""

HOLD_NS: Final[Duration] = 400 * MILLISECOND
"""Two reports: the second one has a rate."""

DOUBLE_NS: Final[Duration] = 2 * SECOND
"""As slow as the controller, which must notice before the pace has doubled."""

DOUBLE_S: Final = DOUBLE_NS / SECOND

RELEASE_FACTOR: Final = 2.0
"""A pace of twice the publication rate has no effect."""

MOST_LINKS: Final = 64
"""More links than this are not remembered: the slowest of 64 is slow enough."""


class FullLink(NamedTuple):
    """The last report of a link."""

    name: str
    waiting: int
    rate_bytes_per_s: float
    at: Instant

    @property
    def pace(self) -> float:
        """What the pubend should send."""
        rate = self.rate_bytes_per_s
        excess = self.waiting - rate * TARGET_NS / SECOND
        share = 1 - excess / (rate * SETTLE_NS / SECOND)
        return rate * min(MOST_SHARE, max(LEAST_SHARE, share))


class LinkPace:
    """The pace of one pubend, in bytes a second."""

    def __init__(self) -> None:
        self.floor_bytes_per_s = 1.0
        """The pace never falls below this, whatever a neighbour reports."""
        self._links: dict[str, FullLink] = {}
        self._pace: float | None = None
        self._told_at: Instant = 0
        self._owed = 0.0
        """What was published and is not yet paid for by the time that passed."""
        self._owed_at: Instant = 0
        self._hold_until: Instant = 0
        self._stops_at = BURST_BYTES
        """What must wait before a pubend without a pace stops."""
        self._next_pass: Instant = 0
        self.slowest: FullLink | None = None
        """The link that the pace follows."""

    def reported(self, link: str, waiting: int, rate_bytes_per_s: float, now: Instant) -> None:
        """So much waits on a link, which takes so much a second (0 if that is not known yet)."""
        present = self.pace_at(now)
        if rate_bytes_per_s <= 0 and waiting * SECOND < (present or 0.0) * TARGET_NS:
            return
        self._pay(now)
        self._links = {name: each for name, each in self._links.items() if now - each.at < QUIET_NS}
        self._told_at = now
        if rate_bytes_per_s <= 0:
            self._pace = present
            if present is None and waiting >= self._stops_at:
                self._hold_until = now + HOLD_NS
                self._stops_at = min(GROWTH * waiting, LARGEST_BURST_BYTES)
        else:
            self._stops_at = BURST_BYTES
            if link in self._links or len(self._links) < MOST_LINKS:
                self._links[link] = FullLink(link, waiting, rate_bytes_per_s, now)
            self.slowest = min(self._links.values(), key=lambda each: each.pace)
            self._pace = max(self.floor_bytes_per_s, self.slowest.pace)
        self._next_pass = self._paid_at(now)

    def pace_at(self, now: Instant) -> float | None:
        """The pace at present; None without one."""
        return None if self._pace is None else self._pace * self._growth(now)

    def _growth(self, now: Instant) -> float:
        """How many times the pace has grown since the last report."""
        quiet = now - self._told_at - QUIET_NS
        return float(2 ** min(64.0, quiet / DOUBLE_NS)) if quiet > 0 else 1.0

    def is_fresh(self, now: Instant) -> bool:
        """Whether a link has reported lately that it is full."""
        return self._pace is not None and now - self._told_at < QUIET_NS

    def is_reported(self, link: str, now: Instant) -> bool:
        """Whether the pace follows what this link reports."""
        known = self._links.get(link)
        return known is not None and now - known.at < SETTLE_NS

    def release_unless_needed(self, published_bytes_per_s: float, now: Instant) -> bool:
        """End the pace if it has no effect; True if it ended."""
        pace = self.pace_at(now)
        if pace is None or self.is_fresh(now) or pace < RELEASE_FACTOR * published_bytes_per_s:
            return False
        self._pace = self.slowest = None
        self._links.clear()
        self._owed = 0.0
        self._next_pass = 0
        return True

    def passed(self, count_bytes: int, now: Instant) -> None:
        """So much was published: wait for the time that it takes at the pace."""
        if self._pace is not None:
            self._pay(now)
            self._owed += count_bytes
            self._next_pass = self._paid_at(now)

    @property
    def next_pass(self) -> Instant:
        """When the next publication may pass."""
        return max(self._next_pass, self._hold_until)

    def _pay(self, now: Instant) -> None:
        """Take off what the pace allowed since the last time."""
        since, self._owed_at = self._owed_at, now
        if self._pace is None:
            self._owed = 0.0
            return
        steady_end = self._told_at + QUIET_NS
        steady = max(0, min(now, steady_end) - since)
        paid = self._pace * steady / SECOND
        grown_from = max(since, steady_end)
        if now > grown_from:
            # The integral of a pace that doubles.
            growth = self._growth(now) - self._growth(grown_from)
            paid += self._pace * growth * DOUBLE_S / log(2)
        self._owed = max(0.0, self._owed - paid)

    def _paid_at(self, now: Instant) -> Instant:
        """When everything that is owed now is paid."""
        pace = self._pace
        if pace is None or not self._owed:
            return now
        steady_end = self._told_at + QUIET_NS
        at, owed = now, self._owed
        if at < steady_end:
            within = pace * (steady_end - at) / SECOND
            if owed <= within:
                return at + round(owed * SECOND / pace)
            at, owed = steady_end, owed - within
        growing = pace * self._growth(at)
        return at + round(DOUBLE_NS * log2(1 + owed * log(2) / (growing * DOUBLE_S)))

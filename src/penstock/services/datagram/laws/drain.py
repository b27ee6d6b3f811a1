"""Drains the queue now and then, so that all who share it learn the shortest delay.

1. The time is divided at the multiples of a second, then of 2, 4 and of 8 seconds as the session
   grows older, by the clock of the receiver.  At such an instant a receiver that has not seen the
   queue empty for half of that time, or doubts the shortest delay, halves its rate for a quarter
   of a second.  The clocks of hosts agree to some milliseconds, so that all who share a queue
   drain it together: one flow of a hundred cannot, and if a part of them did, the others would
   take what it leaves, and messages would be lost when it returns.  (Where clocks disagree, each
   drains by itself, and few flows still do.)  An instant that falls into a drain is over with it.
2. A thin flow drains for the time of two messages: it must see one of the empty queue.  It drains
   less often, at the multiples of the next power of two of seconds that is ``PAUSE`` times as long
   as the drain is longer than others.  So it meets the drains of the others, and has time between
   two of its own.
   Where the round trip is longer than the drain, the receiver decides at the end of the drain.
3. After that the rate is again what it was before.  It is held until the reception rate is measured
   without the drain, or until the queue is as long as it should be.
"""

from __future__ import annotations

from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

FIRST_REFRESH_NS: Final[Duration] = SECOND
"""Soon at the beginning, when others have begun too and have found the queue full."""

REFRESH_NS: Final[Duration] = 8 * SECOND
"""About as often as BBR does it, for the same reason."""

DRAIN_FOR_NS: Final[Duration] = 250 * MILLISECOND
"""At half the rate this empties a queue of an eighth of a second; it costs 1.6 % of the rate."""

PAUSE: Final = 8
"""Times the length of a drain: about a sixteenth of the rate is the most that drains cost."""

LONGEST_REFRESH_NS: Final[Duration] = 64 * SECOND
"""The shortest delay of the last minute or two counts (``queue_view``)."""

DRAINED_TO: Final = 0.5

SEEN_AGAIN_NS: Final[Duration] = 150 * MILLISECOND
"""The window of a rate and one report: after this and a round trip the drain is out of sight."""

SEEN_AGAIN_MESSAGES: Final = 4
"""The same for a thin flow (``reception``)."""


def length_ns(rate_msgs_per_s: float) -> Duration:
    """How long a flow of this rate drains (rule 2)."""
    two_messages_ns = round(2 * SECOND / max(1e-3, rate_msgs_per_s))
    return min(LONGEST_REFRESH_NS // PAUSE, max(DRAIN_FOR_NS, two_messages_ns))


def _refresh_of(rate_msgs_per_s: float) -> Duration:
    """How often a flow of this rate drains at most."""
    refresh = FIRST_REFRESH_NS
    while refresh < PAUSE * (length_ns(rate_msgs_per_s) - DRAIN_FOR_NS):
        refresh *= 2
    return refresh


class Drain:
    """The drains of one session."""

    __slots__ = ("_asked_at", "_began", "_rate", "_refresh_ns", "_until")

    def __init__(self) -> None:
        self._refresh_ns = FIRST_REFRESH_NS
        self._began: Instant = 0
        self._asked_at: Instant | None = None
        self._until: Instant = 0
        self._rate = 0.0

    @property
    def going_on(self) -> bool:
        """Whether the rate is that of a drain, or is held after one."""
        return self._rate > 0

    def ends_at(self, now: Instant) -> Instant | None:
        """When the rate rises again; None if it is not halved."""
        return self._until if self._rate > 0 and now < self._until else None

    def due(
        self, rate_msgs_per_s: float, empty_at: Instant | None, *, doubted: bool, now: Instant
    ) -> bool:
        """Whether to begin (rule 1); asked at every decision."""
        before, self._asked_at = self._asked_at, now
        if before is None:
            self._began = now
            return False
        refresh_ns = max(self._refresh_ns, _refresh_of(rate_msgs_per_s))
        while self._refresh_ns < REFRESH_NS and now - self._began >= 2 * self._refresh_ns:
            self._refresh_ns *= 2
        if self.going_on or before // refresh_ns == now // refresh_ns:
            return False
        return doubted or (empty_at is not None and now - empty_at > refresh_ns // 2)

    def begin(self, rate_msgs_per_s: float, now: Instant) -> None:
        """Halve this rate for a while."""
        self._rate = rate_msgs_per_s
        self._until = now + length_ns(rate_msgs_per_s)

    def rate(self, *, queue_is_back: bool, round_trip_ns: Duration, now: Instant) -> float:
        """The rate of the drain, or the rate before once it is over."""
        if now < self._until:
            return DRAINED_TO * self._rate
        rate = self._rate
        messages_ns = round(SEEN_AGAIN_MESSAGES * SECOND / max(0.1, rate))
        if queue_is_back or now >= self._until + round_trip_ns + max(SEEN_AGAIN_NS, messages_ns):
            self._rate = 0.0
        return rate

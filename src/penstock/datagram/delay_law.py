"""The improved law: the rate follows the queueing delay, before anything is lost.

1. The queueing delay d is what a publication's way takes beyond the shortest of the last minutes;
   the clocks' difference cancels.  The least of the last moments counts: a queue that drains
   between bursts does no harm, and a process that is scheduled late is no queue.
2. While a queue stands, all its flows together receive exactly what the link carries, each its
   part.  So the next rate is taken from the *reception* rate r, not from the rate before:

       allowed = r · (1 - (d - target) / DRAIN) + STEP · √r · (time since the last decision)

   The first term alone brings the queue to its target within a few ``DRAIN`` and leaves the parts
   as they are.  The second is a larger part of a small rate than of a large one, so that large
   flows shrink and small ones grow until all are equal; flows that want less than that are not
   limited by it.  A step that is the same for everybody would do so faster, but a hundred thin
   flows would then never give way.
3. Where there is no queue, the rate rises by ``PROBE`` at each decision.  The equation holds beside
   all this: who came when the queue was full already does not see it, but sees the losses.
4. Who has not seen the queue empty for ``REFRESH_NS`` halves its rate for ``DRAIN_FOR_NS`` and then
   returns: the queue drains, and all who share it learn the true shortest delay at the same time.
   Without that, who came late takes a part of the queue for the length of the way.
5. A flow that listens to the delay starves beside one that does not, such as TCP, which fills the
   queue until something is lost.  One is there if the delay stays ``HIGH`` times as far above the
   target as rule 2 alone would hold it, for ``PERSISTENT_NS``, although this flow has given way to
   less than ``GIVEN_WAY`` of its rate; or if losses go on, two loss events between ``SOON_NS`` and
   ``LATER_NS`` apart.  Then the paper's law decides, for ``ALONE_NS``.

A policy: it takes delays, rates and instants, and returns rates.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant, in_seconds

TARGET_NS: Final[Duration] = 15 * MILLISECOND
"""Where the standing queue is held: a few times the jitter of the publishers, and a seventh of what
the experiments' queue holds at 1 Mbps, so that there is room when the link loses capacity."""

DRAIN_NS: Final[Duration] = 500 * MILLISECOND
"""How fast a deviation from the target is worked off.  It must be several times the delay of the
loop, which is a report interval and a round trip."""

STEP: Final = 6.5
"""By how many √r a rate of r messages a second would rise in a second, were it not for the delay:
half of r at 150 messages a second, which costs the queue 13 ms beyond its target."""

STEADY_STEP_NS: Final[Duration] = 50 * MILLISECOND
"""What usually passes between two decisions."""

LONGEST_STEP_NS: Final[Duration] = 100 * MILLISECOND
"""A thin flow decides when a message comes; the time before that does not count beyond this."""

PROBE: Final = 1.2
"""Growth in one decision where there is no queue: a link that has doubled is filled in five."""

NO_QUEUE_NS: Final[Duration] = TARGET_NS // 5

BASE_WINDOW_NS: Final[Duration] = 60 * SECOND
"""The shortest delay is taken over this and what has passed of the next: clocks that drift apart by
50 ppm move it by 6 ms meanwhile, and after a change of route it is right again."""

STANDING_NS: Final[Duration] = 25 * MILLISECOND
"""Half a report interval, so that a decision looks back over one or less: enough for a queue of a
burst to drain, and quick enough when a link loses half of its capacity."""

HIGH: Final = 2.0
GIVEN_WAY: Final = 0.5
LEAST_PART: Final = 0.4
"""A flow does not give way further than this in one episode: if the delay stays, another sender or
a busy machine makes it, and giving way is of no use to anybody."""

PERSISTENT_NS: Final[Duration] = 2 * SECOND
"""Flows that all keep to this law drain a full queue in a second or two."""

SOON_NS: Final[Duration] = SECOND
LATER_NS: Final[Duration] = 10 * SECOND
ALONE_NS: Final[Duration] = 30 * SECOND
"""Losses of one congestion come within a second; those of a TCP flow every few seconds."""


REFRESH_NS: Final[Duration] = 10 * SECOND
"""As often as BBR does it, for the same reason."""

DRAIN_FOR_NS: Final[Duration] = 250 * MILLISECOND
"""At half the rate this empties a queue of an eighth of a second; it costs 1 % of the rate."""

EMPTY_NS: Final[Duration] = 2 * MILLISECOND
"""Less than the jitter of a process: the queue was empty."""


class Least:
    """The least of recent values, over the present block of time and the one before."""

    __slots__ = ("_before", "_begun", "_block_ns", "_current")

    def __init__(self, block_ns: Duration) -> None:
        """Nothing was seen."""
        self._block_ns = block_ns
        self._before: int | None = None
        self._current: int | None = None
        self._begun: Instant = 0

    def reset(self) -> None:
        """Nothing before counts."""
        self._before = self._current = None

    def of(self, value: int, now: Instant) -> int:
        """The least, this value included."""
        if self._current is None or now - self._begun > self._block_ns:
            self._before, self._current, self._begun = self._current, value, now
        self._current = min(self._current, value)
        return self._current if self._before is None else min(self._before, self._current)


class DelayLaw:
    """The state of one session."""

    __slots__ = (
        "_alone_until",
        "_base",
        "_drain_rate",
        "_drain_until",
        "_empty_at",
        "_high_ns",
        "_high_rate",
        "_high_since",
        "_last_loss_at",
        "_standing",
        "queueing_ns",
    )

    def __init__(self) -> None:
        """No delay is known."""
        self.queueing_ns: Duration = 0
        self._base = Least(BASE_WINDOW_NS)
        self._standing = Least(STANDING_NS)
        self._alone_until: Instant = 0
        self._last_loss_at: Instant | None = None
        self._empty_at: Instant | None = None
        self._high_ns: Duration = 0
        self._high_rate = 0.0
        self._high_since: Instant | None = None
        self._drain_until: Instant = 0
        self._drain_rate = 0.0

    def clock_was_set(self) -> None:
        """Delays before this mean nothing any more."""
        self._base.reset()
        self._standing.reset()

    def arrived(self, one_way_ns: Duration, now: Instant) -> None:
        """A message took so long, by the two clocks."""
        queueing_ns = one_way_ns - self._base.of(one_way_ns, now)
        self.queueing_ns = self._standing.of(queueing_ns, now)
        if queueing_ns < EMPTY_NS or self._empty_at is None:
            self._empty_at = now

    def loss_event(self, now: Instant) -> None:
        """Something was lost (rule 5)."""
        last, self._last_loss_at = self._last_loss_at, now
        if last is not None and SOON_NS <= now - last <= LATER_NS:
            self._alone_until = now + ALONE_NS

    def in_force(self, now: Instant) -> bool:
        """Whether the delay decides at present."""
        return now >= self._alone_until

    def allowed_rate(
        self, reception_msgs_per_s: float, elapsed_ns: Duration, now: Instant
    ) -> float:
        """The next rate of a session that receives so much; ``elapsed_ns`` is since the last."""
        self._look_for_others(reception_msgs_per_s, now)
        if self._drain_rate:
            return self._draining(now)
        if self._empty_at is not None and now - self._empty_at > REFRESH_NS:
            self._drain_rate = reception_msgs_per_s
            self._drain_until = now + DRAIN_FOR_NS
            self._empty_at = now
            return self._draining(now)
        if self.queueing_ns < NO_QUEUE_NS:
            return PROBE * reception_msgs_per_s
        correction = (self.queueing_ns - TARGET_NS) / DRAIN_NS
        step = STEP * sqrt(reception_msgs_per_s) * in_seconds(min(elapsed_ns, LONGEST_STEP_NS))
        least = 0.0 if self._high_since is None else LEAST_PART * self._high_rate
        return max(least, reception_msgs_per_s * (1 - correction)) + step

    def _look_for_others(self, reception_msgs_per_s: float, now: Instant) -> None:
        """Give up the law for a while if somebody else keeps the queue long (rule 5)."""
        if self._high_since is None:
            root = sqrt(max(1.0, reception_msgs_per_s))
            beyond_ns = round(STEP / root * in_seconds(STEADY_STEP_NS) * DRAIN_NS)
            self._high_ns = TARGET_NS + round(HIGH * beyond_ns)
            self._high_rate = reception_msgs_per_s
        if self.queueing_ns <= self._high_ns:
            self._high_since = None
        elif self._high_since is None:
            self._high_since = now
        elif (
            now - self._high_since > PERSISTENT_NS
            and reception_msgs_per_s < GIVEN_WAY * self._high_rate
        ):
            self._high_since = None
            self._alone_until = now + ALONE_NS

    def _draining(self, now: Instant) -> float:
        """Half of the rate before; and the whole of it again when the time is over."""
        if now < self._drain_until:
            return self._drain_rate / 2
        rate, self._drain_rate = self._drain_rate, 0.0
        return rate

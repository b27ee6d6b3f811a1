"""The improved law: the rate follows the queueing delay, before anything is lost.

1. The queueing delay d is what a publication's way takes beyond the shortest of the last minutes;
   the clocks' difference cancels.  The least of the last moments counts: a queue that drains
   between bursts does no harm, and a process that is scheduled late is no queue.
2. While a queue stands, all its flows together receive exactly what the link carries, each its
   part.  So the next rate is taken from the *reception* rate r, not from the rate before:

       allowed = r · (1 - (d - target) / DRAIN) + step

   The first term alone brings the queue to its target within a few ``DRAIN`` and leaves the parts
   as they are.  The step is the same for all rates, and so a larger part of a small one: large
   flows shrink and small ones grow until all are equal; flows that want less than that are not
   limited by it.  The queue stands where the two terms cancel.  Below ``THIN_MSGS_PER_S`` the step
   falls with r^(3/4): a hundred thin flows would otherwise never give way.
3. Where there is no queue, the rate rises by ``PROBE`` at each decision.  The equation holds beside
   all this: who came when the queue was full already does not see it, but sees the losses.
4. Who has not seen the queue empty for ``FIRST_REFRESH_NS``, and then for twice as long each time
   up to ``REFRESH_NS``, halves its rate for ``DRAIN_FOR_NS`` and then returns: the queue drains,
   and all who share it learn the true shortest delay at the same time.  Without that, who came
   late takes a part of the queue for the length of the way.
5. A flow that listens to the delay starves beside one that does not, such as TCP, which fills the
   queue until something is lost.  One is there if this flow gives way in vain: it has less than
   ``GIVEN_WAY`` of the rate that it had when an episode of high delay began, and the delay is
   still high, for ``PERSISTENT_NS`` longer than not; or if losses go on, two loss events between
   ``SOON_NS`` and ``LATER_NS`` apart.  Then the paper's law decides, for ``ALONE_NS``.
   A delay is high if it is ``HIGH`` times as far above the target as rule 2 alone would hold it
   at the present rate (a flow that has given way to others of this law holds a longer queue with
   them than it did alone), and more than half of the longest of the last minutes: a crowd of thin
   flows that keep to this law holds a longer queue than a thick one, but does not fill it again and
   again.  While it is high a flow gives way to ``LEAST_PART`` and no further.  An episode is over
   when the delay was not high for ``QUIET_NS``: TCP lets the queue drain now and then, and who took
   its own reduced rate for the beginning each time would give way again and again.

A policy: it takes delays, rates and instants, and returns rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant

TARGET_NS: Final[Duration] = 15 * MILLISECOND
"""Where the standing queue is held: a few times the jitter of the publishers, and a seventh of what
the experiments' queue holds at 1 Mbps, so that there is room when the link loses capacity."""

DRAIN_NS: Final[Duration] = 500 * MILLISECOND
"""How fast a deviation from the target is worked off.  It must be several times the delay of the
loop, which is a report interval and a round trip."""

STEP_MSGS_PER_S: Final = 2.9
"""By how much a rate rises at each decision, were it not for the delay: 2 % of 150 messages a
second, which costs the queue 10 ms beyond its target."""

THIN_MSGS_PER_S: Final = 64.0
"""Below this the step shrinks with the rate: at 5 messages a second it is 0.4, or 9 %, and costs
the queue 43 ms.  A whole step would be more than half of the rate."""

PROBE: Final = 1.2
"""Growth in one decision where there is no queue: a link that has doubled is filled in five."""

NO_QUEUE_NS: Final[Duration] = TARGET_NS // 5

BASE_WINDOW_NS: Final[Duration] = 60 * SECOND
"""The shortest delay is taken over this and what has passed of the next: clocks that drift apart by
50 ppm move it by 6 ms meanwhile, and after a change of route it is right again."""

LONGEST_LOOK_NS: Final[Duration] = 100 * MILLISECOND
"""A thin flow looks at the queue when a message comes; what was before is not known."""

STANDING_NS: Final[Duration] = 25 * MILLISECOND
"""Half a report interval, so that a decision looks back over one or less: enough for a queue of a
burst to drain, and quick enough when a link loses half of its capacity."""

HIGH: Final = 3.0
"""Three flows of 149 messages a second hold 36 ms, in both worlds: twice what rule 2 says for exact
rates, because a meter reads a few per cent too much.  TCP holds 50 to 100 ms in the same queue."""

GIVEN_WAY: Final = 0.55
LEAST_PART: Final = 0.4
"""A flow does not give way further than this in one episode: if the delay stays, another sender or
a busy machine makes it, and giving way is of no use to anybody.  It is a fifth less than what a
link that has lost half of its capacity carries, so that a full queue of a fifth of a second drains
to half well within ``PERSISTENT_NS``; with 0.45 and a step on top of it, it hardly drains at all,
because the rate before is remembered as the highest of many that scatter."""

REMEMBERED: Final = 0.95
"""What is left of a rate at the next decision: the delay becomes high a few decisions after another
sender has begun to take its part, and the rate before that is the one that counts."""

PERSISTENT_NS: Final[Duration] = 2 * SECOND
"""Flows that all keep to this law drain a full queue in a second or two."""

QUIET_NS: Final[Duration] = 2 * SECOND
"""A TCP flow that has lost much stops for its least time-out, a second, and begins slowly."""

SOON_NS: Final[Duration] = SECOND
LATER_NS: Final[Duration] = 10 * SECOND
ALONE_NS: Final[Duration] = 30 * SECOND
"""Losses of one congestion come within a second; those of a TCP flow every few seconds."""


REFRESH_NS: Final[Duration] = 10 * SECOND
"""As often as BBR does it, for the same reason."""

FIRST_REFRESH_NS: Final[Duration] = 2 * SECOND
"""Sooner at the beginning, when others have begun too and found the queue full."""

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
        "_episode_until",
        "_fullest",
        "_fullest_ns",
        "_high_ns",
        "_high_rate",
        "_in_vain_ns",
        "_last_loss_at",
        "_looked_at",
        "_refresh_ns",
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
        self._fullest = Least(BASE_WINDOW_NS)
        self._fullest_ns: Duration = 0
        self._high_ns: Duration = 0
        self._high_rate = 0.0
        self._in_vain_ns: Duration = 0
        self._episode_until: Instant = 0
        self._looked_at: Instant = 0
        self._refresh_ns = FIRST_REFRESH_NS
        self._drain_until: Instant = 0
        self._drain_rate = 0.0

    def clock_was_set(self) -> None:
        """Delays before this mean nothing any more."""
        self._base.reset()
        self._standing.reset()
        self._fullest.reset()

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        """Messages that came at once took so long, by the two clocks.

        The first and the quickest say it all: within one instant the least delays only fall, so the
        first gives the fullest queue and the quickest the standing one.
        """
        if one_ways_ns:
            self._look(one_ways_ns[0], now)
            if len(one_ways_ns) > 1:
                self._look(min(one_ways_ns), now)

    def _look(self, one_way_ns: Duration, now: Instant) -> None:
        queueing_ns = one_way_ns - self._base.of(one_way_ns, now)
        self.queueing_ns = self._standing.of(queueing_ns, now)
        self._fullest_ns = -self._fullest.of(-self.queueing_ns, now)
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

    def allowed_rate(self, reception_msgs_per_s: float, now: Instant) -> float:
        """The next rate of a session that receives so much."""
        self._look_for_others(reception_msgs_per_s, now)
        if self._drain_rate:
            return self._draining(now)
        if self._empty_at is not None and now - self._empty_at > self._refresh_ns:
            self._refresh_ns = min(REFRESH_NS, 2 * self._refresh_ns)
            self._drain_rate = reception_msgs_per_s
            self._drain_until = now + DRAIN_FOR_NS
            self._empty_at = now
            return self._draining(now)
        if self.queueing_ns < NO_QUEUE_NS:
            return PROBE * reception_msgs_per_s
        correction = (self.queueing_ns - TARGET_NS) / DRAIN_NS
        least = LEAST_PART * self._high_rate if self._high else 0.0
        growth = _growth(reception_msgs_per_s) * reception_msgs_per_s
        return max(least, reception_msgs_per_s * (1 - correction) + growth)

    @property
    def _high(self) -> bool:
        return self.queueing_ns > max(self._high_ns, self._fullest_ns // 2)

    def _look_for_others(self, reception_msgs_per_s: float, now: Instant) -> None:
        """Give up the law for a while if somebody else keeps the queue long (rule 5)."""
        elapsed_ns = min(now - self._looked_at, LONGEST_LOOK_NS)
        self._looked_at = now
        self._high_ns = TARGET_NS + round(HIGH * _growth(reception_msgs_per_s) * DRAIN_NS)
        if self._episode_until < now:
            self._in_vain_ns = 0
            self._high_rate = max(reception_msgs_per_s, REMEMBERED * self._high_rate)
        if self._high:
            self._episode_until = now + QUIET_NS
        if not self._high or reception_msgs_per_s >= GIVEN_WAY * self._high_rate:
            self._in_vain_ns = max(0, self._in_vain_ns - elapsed_ns)
            return
        self._in_vain_ns += elapsed_ns
        if self._in_vain_ns > PERSISTENT_NS:
            self._episode_until = 0
            self._alone_until = now + ALONE_NS

    def _draining(self, now: Instant) -> float:
        """Half of the rate before; and the whole of it again when the time is over."""
        if now < self._drain_until:
            return self._drain_rate / 2
        rate, self._drain_rate = self._drain_rate, 0.0
        return rate


def _growth(rate_msgs_per_s: float) -> float:
    """The part by which a rate rises at a decision (rule 2); below one a second as at one."""
    if rate_msgs_per_s >= THIN_MSGS_PER_S:
        return STEP_MSGS_PER_S / rate_msgs_per_s
    thinner = THIN_MSGS_PER_S / max(1.0, rate_msgs_per_s)
    return STEP_MSGS_PER_S / THIN_MSGS_PER_S * sqrt(sqrt(thinner))

"""The improved law: the rate follows the queueing delay, before anything is lost.

1. All delays are parts of the room R of the queue (``queue_view``), so that the law is the same on
   every link.  The rate ``FEW`` / R divides thick flows from thin ones: at 45 messages of room it
   is the share of one of five flows.
2. A flow of rate r *wants* the delay

       wanted(r) = target + knee · (x² for x ≤ 1, √x for x > 1),   x = FEW / (R · r)

   It falls with r.  All flows of a queue see one delay, and so all come to the rate that wants it:
   they are equal, whatever their round trips.  Between thick flows on paths with several queues
   the sum of the delays counts; the square makes the law nearly one of α = 2.  The root keeps the
   queue of a hundred flows within the room: it grows with the root of their number (as Swift's
   flow scaling does), and that of the random phases of paced flows does too.
3. While a queue stands, all its flows together receive exactly what the link carries, each its
   part.  So the next rate is taken from the *reception* rate r, not from the rate before:

       allowed = r · (1 + (wanted(r) - d) / DRAIN)

   This brings the queue to where it is wanted within a few ``DRAIN``.  A step is a part of the
   rate, and so is the same on slow and on fast links.
4. A rate that rises is taken from the present quota (``granted``).  Where there is no queue, the
   growth doubles at each decision up to ``PROBE``.  Nothing rises within ``LOSS_QUIET_NS`` of a
   loss: reception leaves out what was lost, so that flows which repeat it lose nothing more, even
   if they do not see the queue.
   A thin flow decides when a message comes, once in T.  If all flows of a queue did what it does,
   nobody would answer before T has passed.  So a deviation is worked off in T where that is longer
   than ``DRAIN``, and without a queue a rate grows by wanted / T at most, which fills the queue in
   T as far as is wanted.  A flow that is much thinner than others need not be so slow: the longest
   delay that it has seen lately is wanted by flows of a higher rate, and those answer in their T.
   A flow of which fewer than five messages came is not held below ``LEAST_FIRST_MSGS_PER_S``: one
   interval, while others are lost, tells little.
5. The queue is drained now and then (``drain``).
6. While a rival keeps the queue long (``rivals``), the paper's law decides instead.

A policy: it takes delays, rates and instants, and returns rates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf, sqrt
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.drain import Drain
from penstock.services.datagram.laws.granted import GrantedRates
from penstock.services.datagram.laws.queue_view import QueueView
from penstock.services.datagram.laws.reception import ReceptionRate
from penstock.services.datagram.laws.rivals import HIGH, Rivals

FEW: Final = 9.0
"""Messages in the room of a flow at the knee: a fifth of the broker's queue of 45.  Where thick and
thin flows divide is a choice: below five flows a queue of a few messages each is short, and paths
over several queues matter more than many flows."""

TARGET_PART: Final = 1 / 22
"""Of the room, for one flow alone: two messages of 45, as many as a token bucket sends at once, so
that its own bursts keep the link busy.  In a queue of another length it is another number."""

LEAST_TARGET_NS: Final[Duration] = MILLISECOND
"""Timers are not finer; where the room is small, a quarter of the room."""

KNEE_PART: Final = 1 / 8
"""Of the room: a hundred flows, √20 beyond the knee, want six tenths of the room.  A hundred is the
largest number of equal flows that the law was made for (flash crowd, Figure 12); at three hundred
the room is full and losses limit instead."""

LEAST_KNEE_NS: Final[Duration] = 3 * MILLISECOND // 2
"""A growth of 0.3 % in a decision at the knee: small rooms would equal out shares in minutes."""

DRAIN_NS: Final[Duration] = 500 * MILLISECOND
"""How fast a deviation is worked off: four times the delay of the loop, which is a report interval,
half a window of the standing delay, and a round trip."""

MOST_SHRINKING: Final = 0.5
MOST_GROWTH: Final = 0.08
"""In one decision, while there is a queue.  Five decisions of 50 ms, which pass before an excess is
seen and answered at a round trip of 0.2 s, end 47 % too high and bring 67 ms of queue: three
quarters of a room of 90 ms.  At longer round trips losses can result."""

PROBE: Final = 0.2
"""Growth in one decision where there is no queue."""

FIRST_PROBE: Final = 0.01
"""Where the growth without a queue begins: from there it is ``PROBE`` after five decisions, and a
link that has doubled is filled in eight."""

NO_QUEUE_NS: Final[Duration] = 2 * MILLISECOND
"""Less than the jitter of a process; at most half of what is wanted."""

NO_QUEUE_PART: Final = 1 / 8

DECISION_NS: Final[Duration] = 50 * MILLISECOND
"""The interval of a thick flow's decisions; a thin one decides when a message comes."""

MOST_TIMES: Final = 4.0
"""A thin flow that has found no queue in five decisions in a row, which is no chance any more,
makes up for at most so many decisions that it could not make."""

MOST_RISE: Final = 1.5
"""The paper's α: a quota rises by half at most."""

LEAST_FIRST_MSGS_PER_S: Final = 2.0
"""As much as a session that joins asks for at least (``session.LEAST_JOINING_MSGS_PER_S``)."""

SEEN: Final = 4
"""Delays at decisions of which the longest tells who else answers: as many as messages that tell a
rate."""

JITTER_PART: Final = 1 / 4
"""Of the wanted delay; see ``queue_view``, rule 5."""

LOSS_QUIET_NS: Final[Duration] = SECOND
"""Losses of one congestion come within a second."""


def wanted_ns(rate_msgs_per_s: float, room_ns: Duration) -> float:
    """The queueing delay that a flow of this rate wants (rule 2)."""
    target, knee = _target_and_knee_ns(room_ns)
    thinness = FEW * SECOND / (room_ns * max(rate_msgs_per_s, 1e-3))
    return target + knee * (thinness * thinness if thinness < 1 else sqrt(thinness))


def rate_wanting(delay_ns: float, room_ns: Duration) -> float:
    """The inverse: the rate of a flow that wants this delay; infinite if none wants so little."""
    target, knee = _target_and_knee_ns(room_ns)
    above = (delay_ns - target) / knee
    if above <= 0:
        return inf
    return FEW * SECOND / (room_ns * (above * above if above > 1 else sqrt(above)))


def _target_and_knee_ns(room_ns: Duration) -> tuple[float, float]:
    target = max(TARGET_PART * room_ns, min(room_ns / 4, LEAST_TARGET_NS))
    return target, max(LEAST_KNEE_NS, KNEE_PART * room_ns)


class DelayLaw:
    """The state of one session."""

    __slots__ = (
        "_decided_at",
        "_drain",
        "_granted",
        "_growth",
        "_reception",
        "_rivals",
        "_seen",
        "queue",
        "rises",
    )

    def __init__(self) -> None:
        """No delay is known."""
        self.queue = QueueView()
        self._reception = ReceptionRate()
        self._granted = GrantedRates()
        self._drain = Drain()
        self._rivals = Rivals()
        self._growth = FIRST_PROBE
        self._seen: deque[float] = deque(maxlen=SEEN)
        self._decided_at: Instant = 0
        self.rises = True
        """Whether the last decision found room for more."""

    def clock_was_set(self) -> None:
        """Delays before this mean nothing any more."""
        self.queue.clock_was_set()

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        """Messages came at once and took so long, by the two clocks."""
        if one_ways_ns:
            if self._reception.add(len(one_ways_ns), now):
                self._granted.forget()
            self.queue.arrived(one_ways_ns, now)

    def loss_event(self, now: Instant) -> None:
        """Something was lost."""
        self.queue.lost(now)
        self._growth = FIRST_PROBE

    def in_force(self, now: Instant) -> bool:
        """Whether the delay decides at present."""
        return not self._rivals.present(now)

    @property
    def drains(self) -> bool:
        """Whether the last decision is part of a drain."""
        return self._drain.going_on

    def decides_by(self, now: Instant) -> Instant | None:
        """When the next decision is due at the latest; None if there is no haste."""
        return self._drain.ends_at(now)

    def allowed_rate(self, now: Instant, round_trip_ns: Duration = 0) -> float:
        """The next rate; infinite before a rate was measured."""
        measured = self._reception.per_second(now)
        if measured is None:
            return inf
        allowed = self._decide(measured, round_trip_ns, now)
        if not self._reception.settled:
            allowed = max(allowed, LEAST_FIRST_MSGS_PER_S)
        self._granted.add(min(allowed, MOST_RISE * measured), now)
        self._decided_at = now
        return allowed

    def _decide(self, measured: float, round_trip_ns: Duration, now: Instant) -> float:
        queue, drain = self.queue, self._drain
        wanted = wanted_ns(measured, queue.room_ns(now))
        queue.most_jitter_ns = round(JITTER_PART * wanted)
        high = queue.queueing_ns > max(HIGH * wanted, queue.fullest_ns // 2)
        self._rivals.look(measured, high=high, now=now)
        if drain.due(measured, queue.empty_at, doubted=queue.doubted, now=now):
            queue.doubted = False
            drain.begin(measured, now)
        self.rises = False
        if drain.going_on:
            self._granted.forget()
            back = queue.queueing_ns > wanted
            return drain.rate(queue_is_back=back, round_trip_ns=round_trip_ns, now=now)
        factor = self._factor(wanted, now)
        self.rises = factor > 1
        if self.rises:
            measured = max(measured, self._present_rate(measured, round_trip_ns))
        return max(self._rivals.least_rate(high=high), measured * factor)

    def _present_rate(self, measured: float, round_trip_ns: Duration) -> float:
        window = self._reception.window
        return self._granted.present_rate(measured, window, round_trip_ns) if window else measured

    def _factor(self, wanted: float, now: Instant) -> float:
        """The rate by the one that was measured (rules 3 and 4)."""
        queueing = self.queue.queueing_ns
        lost = self.queue.lost_within(LOSS_QUIET_NS, now)
        since = max(DECISION_NS, now - self._decided_at)
        if not lost and queueing < max(NO_QUEUE_PART * wanted, min(wanted / 2, NO_QUEUE_NS)):
            self._growth = min(PROBE, 2 * self._growth)
            times = min(MOST_TIMES, since / DECISION_NS) if self._growth == PROBE else 1.0
            return min(MOST_RISE, 1 + wanted / since, float((1 + self._growth) ** times))
        self._growth = FIRST_PROBE
        self._seen.append(queueing)
        answered = self._answered_ns(since, now)
        change = (wanted - queueing) / max(DRAIN_NS, answered)
        if change <= 0 or lost:
            return max(MOST_SHRINKING, 1 + min(0.0, change))
        if queueing < wanted / 2:
            change = max(change, FIRST_PROBE)
        return 1 + min(MOST_RISE - 1, MOST_GROWTH * since / answered, change)

    def _answered_ns(self, since_ns: Duration, now: Instant) -> float:
        """After what time other flows answer to a longer queue: T, or less (rule 4)."""
        if len(self._seen) < SEEN:
            return since_ns
        others = rate_wanting(max(self._seen), self.queue.room_ns(now))
        return min(since_ns, max(DECISION_NS, SECOND / others))

"""What a receiver knows of the queue on its path: how long it is, how long it was, its room.

1. The queueing delay is what a message's way takes beyond the shortest of the last minutes; the
   difference of the clocks cancels.  The least of the last moments counts: a queue that drains
   between bursts does no harm, and a process that is scheduled late is no queue.
2. The *room* is the delay of the full queue: the longest delay of the last minutes, if messages
   were lost meanwhile.  Without a loss the queue may hold more than anybody has seen, and the room
   counts as ``ROOM_NS``.  It never counts as more: flows that have seen the full queue and flows
   that have not would otherwise want different delays, and the longer delay takes all.
3. Delays are kept as they were measured, and the shortest is subtracted when they are asked for.
   Who came when the queue was full learns the shortest delay later, and knows the room then too.
4. A loss while the queue looks short means that the shortest delay is not known: ``doubted``.
5. The jitter J of the path (``jitter``) is no queue.  The least of n delays is above the shortest
   one by 3 J / (n + 1), if jitter is drawn uniformly; where messages stay in order each waits for
   the slowest before it, and a dense flow is above it by J or more.  The larger of both is
   subtracted.  A message that is within J of the shortest delay has found the queue empty.
   The delays of a flow on a slow link differ by what other messages take.  That is a queue, so J
   counts as ``most_jitter_ns`` at most, a part of what the flow wants; otherwise flows of one
   queue would see different ones.
6. A very dense flow has a *floor* above the shortest delay (``floor``), which is no queue either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.core.clock import MILLISECOND, SECOND, Duration, Instant
from penstock.services.datagram.laws.floor import DelayFloor
from penstock.services.datagram.laws.jitter import PathJitter
from penstock.services.datagram.laws.least import Least

BASE_WINDOW_NS: Final[Duration] = 60 * SECOND
"""The shortest delay is taken over this and what has passed of the next: clocks that drift apart by
50 ppm move it by 6 ms meanwhile, and after a change of route it is right again."""

STANDING_NS: Final[Duration] = 25 * MILLISECOND
"""Half a report interval, so that a decision looks back over one or less: enough for a queue of a
burst to drain, and quick enough when a link loses half of its capacity."""

ROOM_NS: Final[Duration] = 90 * MILLISECOND
"""Nine tenths of the broker's queue of 45 messages of 280 bytes at 1 Mbps, the paper's link.  It is
a convention, as a flow cannot know the queue of a link before a loss: on slower links the law uses
less of the queue than it could, on faster ones flows differ until they have lost something."""

LEAST_ROOM_NS: Final[Duration] = MILLISECOND
"""The timers of a process are not finer."""

EMPTY_PART: Final = 1 / 50
"""Of the room: less than a message of a queue of 45."""

MOST_FLOOR_NS: Final[Duration] = ROOM_NS // 22
"""What one flow alone wants on the paper's link: if a queue that never drains were taken for a
floor, it would be as long again and no longer."""

JITTER_WIDTH: Final = 3
"""Two delays that are drawn uniformly differ by a third of the width on average."""

DENSE: Final = 16
"""Messages in the first moments of a session.  Messages of a dense flow stay in order, so that each
waits for the slowest before it; the first one does not, and its delay is never seen again."""


class QueueView:
    """The delays of one session."""

    __slots__ = (
        "_base",
        "_first_at",
        "_floor",
        "_jitter",
        "_longest",
        "_loss_follows",
        "_messages",
        "_room_known_at",
        "_standing",
        "doubted",
        "empty_at",
        "fullest_ns",
        "lost_at",
        "most_jitter_ns",
        "queueing_ns",
    )

    def __init__(self) -> None:
        """No delay is known."""
        self.queueing_ns: Duration = 0
        self.fullest_ns: Duration = 0
        """The longest standing delay of the last minutes."""
        self.empty_at: Instant | None = None
        """When the queue was last seen empty; at first, when the first message arrived."""
        self.lost_at: Instant | None = None
        self.doubted = False
        self.most_jitter_ns: Duration = ROOM_NS // 4
        """How much of the delays' variation can be jitter (rule 5)."""
        self._base = Least(BASE_WINDOW_NS)
        self._standing = Least(STANDING_NS)
        self._longest = Least(BASE_WINDOW_NS)
        self._jitter = PathJitter(BASE_WINDOW_NS)
        self._floor = DelayFloor(STANDING_NS, BASE_WINDOW_NS)
        self._room_known_at: Instant | None = None
        self._loss_follows = False
        self._first_at: Instant | None = None
        self._messages = 0

    def clock_was_set(self) -> None:
        """Delays before this mean nothing any more."""
        self._base.reset()
        self._standing.reset()
        self._longest.reset()
        self._jitter.clock_was_set()
        self._floor.reset()

    def lost(self, now: Instant) -> None:
        """A loss event; the message that showed it has passed the full queue and arrives next."""
        self._loss_follows = True
        self.lost_at = now

    def arrived(self, one_ways_ns: Sequence[Duration], now: Instant) -> None:
        """Messages that came at once took so long, by the two clocks."""
        self._begin(len(one_ways_ns), now)
        for one_way in one_ways_ns:
            self._jitter.arrived(one_way, now)
            self._look(one_way, now)
        if self._loss_follows:
            self._loss_follows = False
            self._room_known_at = now
            self.doubted |= self.queueing_ns < ROOM_NS // 2

    def _begin(self, messages: int, now: Instant) -> None:
        """Discard the first delays of a dense flow."""
        if self._first_at is None:
            self._first_at = now
        elif self._messages >= 0 and now - self._first_at > 2 * STANDING_NS:
            if self._messages > DENSE:
                self._base.reset()
            self._messages = -1
        if self._messages >= 0:
            self._messages += messages

    def _look(self, one_way_ns: Duration, now: Instant) -> None:
        base = self._base.of(one_way_ns, now)
        standing = self._standing.of(one_way_ns, now)
        jitter = min(self._jitter.least_ns, self.most_jitter_ns)
        by_chance = max(JITTER_WIDTH * jitter // (self._standing.count + 1), jitter)
        self._floor.arrived(one_way_ns, now)
        if self._floor.least_ns is not None:
            by_chance = max(by_chance, min(self._floor.least_ns - base, MOST_FLOOR_NS))
        self.queueing_ns = max(0, standing - base - by_chance)
        self.fullest_ns = -self._longest.of(-standing, now) - base
        empty = one_way_ns - base < EMPTY_PART * self.room_ns(now) + jitter
        if empty or self.empty_at is None:
            self.empty_at = now

    def room_ns(self, now: Instant) -> Duration:
        """The delay of the full queue (rule 2)."""
        if self._room_known_at is None or now - self._room_known_at > BASE_WINDOW_NS:
            return ROOM_NS
        return min(ROOM_NS, max(LEAST_ROOM_NS, self.fullest_ns))

    def lost_within(self, duration_ns: Duration, now: Instant) -> bool:
        """Whether something was lost so lately."""
        return self.lost_at is not None and now - self.lost_at < duration_ns

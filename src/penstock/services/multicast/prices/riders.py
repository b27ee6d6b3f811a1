"""Prices that ride on data: an update takes no frame of its own where a message goes the same way.

1. A message is expected if the chance that one leaves within ``ride_wait_ns`` is even: if the mean
   gap between the link's messages is at most 1.44 times as long, as for arrivals at random.
2. Only a link that is free, on which nothing waits and which costs nothing, has prices ride.  On
   any other a message is behind others, or is dropped with them, and a price must not be: there
   prices go alone, with priority.
3. A price waits for the next message, which takes it along, for ``ride_wait_ns`` at most; then it
   goes alone after all, and the pause counts as a gap: where messages cease prices soon stop to
   wait for them.
4. Of one priced link only the latest price waits, and of ``MOST_RIDERS`` of them together; more
   go alone at once, so that no message grows by much.

What is kept is two numbers for each link of the broker, and nothing for a sender or a group.
"""

from __future__ import annotations

from math import log
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.multicast.messages import PriceRecord

LONGEST_GAP_NS: Final[Duration] = SECOND
"""A longer pause between two messages counts as this, and so does the time before the first: some
forty messages in close order make up for it, which a few stray ones do not."""

GAP_WEIGHT: Final = 0.125
"""What the last gap counts in their mean, as in TCP's round trips."""

EVEN_CHANCE: Final = 1 / log(2)
"""The mean gap of arrivals at random, by the time within which one is as likely as not."""

MOST_RIDERS: Final = 8
"""Prices that one message takes along: 224 bytes, less than a quarter of a packet."""

RIDER_BYTES: Final = 28
"""What a price adds to a message that takes it along."""


class PricesTold:
    """The number of prices that one neighbour was told since the broker's start."""

    __slots__ = ("rode", "went_alone")

    def __init__(self) -> None:
        self.rode = 0
        """Went with a message."""
        self.went_alone = 0
        """Went in a frame of their own, which several may share."""


class _Way:
    """One link of the broker: how its messages follow each other, and the prices that wait."""

    __slots__ = ("mean_gap_ns", "sent_at", "waiting")

    def __init__(self) -> None:
        self.sent_at: Instant = 0
        self.mean_gap_ns: float = LONGEST_GAP_NS
        self.waiting: dict[int, PriceRecord] = {}

    def count_gap(self, now: Instant) -> None:
        """Let the time since the last message count in the mean."""
        gap_ns = min(now - self.sent_at, LONGEST_GAP_NS)
        self.mean_gap_ns += GAP_WEIGHT * (gap_ns - self.mean_gap_ns)


class PriceRiders:
    """The prices that wait for a message, on all links of a broker."""

    def __init__(self, ride_wait_ns: Duration) -> None:
        """Nothing waits."""
        self._ride_wait_ns = ride_wait_ns
        self._ways: dict[LinkName, _Way] = {}
        self._go_alone_at: Deadlines[LinkName] = Deadlines()
        self.told: dict[LinkName, PricesTold] = {}

    def link_up(self, link: LinkName) -> None:
        """Nothing was sent over it yet."""
        self._ways[link] = _Way()
        self.told.setdefault(link, PricesTold())

    def link_down(self, link: LinkName) -> None:
        """Whatever waited is told anew when the link is there again."""
        self._ways.pop(link, None)
        self._go_alone_at.set(link, None)

    def offer(
        self, link: LinkName, records: list[PriceRecord], now: Instant, *, link_is_free: bool
    ) -> tuple[PriceRecord, ...]:
        """Prices for a neighbour; those that must go at once, alone."""
        way = self._ways.get(link)
        if way is None:
            return ()
        way.waiting.update((record.link, record) for record in records)
        expected = way.mean_gap_ns <= EVEN_CHANCE * self._ride_wait_ns
        if link_is_free and expected and len(way.waiting) <= MOST_RIDERS:
            if link not in self._go_alone_at:
                self._go_alone_at.set(link, now + self._ride_wait_ns)
            return ()
        return self._alone(link, way)

    def _take(self, link: LinkName, way: _Way) -> tuple[PriceRecord, ...]:
        """Whatever waits, which waits no longer."""
        taken = tuple(way.waiting.values())
        way.waiting.clear()
        self._go_alone_at.set(link, None)
        return taken

    def _alone(self, link: LinkName, way: _Way) -> tuple[PriceRecord, ...]:
        taken = self._take(link, way)
        self.told[link].went_alone += len(taken)
        return taken

    def board(self, link: LinkName, now: Instant) -> tuple[PriceRecord, ...]:
        """A message leaves: the prices that it takes along."""
        way = self._ways.get(link)
        if way is None:
            return ()
        way.count_gap(now)
        way.sent_at = now
        if not way.waiting:
            return ()
        taken = self._take(link, way)
        self.told[link].rode += len(taken)
        return taken

    def overdue(self, now: Instant) -> list[tuple[LinkName, tuple[PriceRecord, ...]]]:
        """Prices for which no message came in time, by link."""
        found = []
        for link in self._go_alone_at.pop_due(now):
            way = self._ways[link]
            way.count_gap(now)
            found.append((link, self._alone(link, way)))
        return found

    def next_deadline(self) -> Instant | None:
        """When prices must go alone."""
        return self._go_alone_at.earliest()

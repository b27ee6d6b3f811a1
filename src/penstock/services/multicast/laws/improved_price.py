"""The improved law's price of a link: from what the arriving packets paid.

The paper's price is a function of the buffer alone, so a buffer has to stand for a price to stand,
and the more senders share a link the higher both must be.  Here a link asks what price would have
made the packets that arrived exactly as many as it can carry:

1. Every packet says what its sender *paid* for it: the price at which the sender would want the
   rate that it has, whether prices or its own slow start limit it.  It also names the price that
   its sender used of every link on its tree (``prices.names``).
2. At each update, a link that drains c packets a second and on which n wait wants arrivals of
   ``c - (n - target) / horizon``.  Arrivals a at a mean price p would have been so many at
   ``p · (a / wanted)^exponent``; the difference is added to what this link had asked of *these*
   packets, which is known from the price that they name.  Corrections that are still under way are
   therefore not made again, whatever the distance to the senders.
3. The delay between a price and the packets that name it is the feedback delay; the horizon is a
   few of them, as a margin.  What makes long links steady is rule 2 (docs/papers/cost-benefit.md).
4. A link is free until something waits on it, and when its price falls below what the quickest
   sender would notice.

A link keeps one such record, whatever the number of senders.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from penstock.core.clock import SECOND, Duration, Instant
from penstock.services.multicast.laws.benefit import price_at
from penstock.services.multicast.parameters import ImprovedLaw

MEMORY: Final = 0.6
"""What an update's counts weigh at the next one.  At 2 Mbit/s an update sees twelve packets, whose
number varies by a third."""

CAPACITY_WEIGHT: Final = 0.2
"""What a new measurement of the link's rate counts."""

DELAY_WEIGHT: Final = 0.1
"""What a new measurement of the feedback delay counts."""

LEAST_WANTED: Final = 0.1
"""However much waits, a link wants a tenth of its rate: a price that stops everybody leaves nothing
to learn from."""

LARGEST_FALL: Final = 0.25
LARGEST_RISE: Final = 64.0
"""Bounds of arrivals to wanted arrivals in one update.  A flood is answered at once, a lull slowly:
the one costs buffers, the other a little use of the link."""

REMEMBERED_PRICES: Final = 256
"""13 s of updates; packets that name older prices count as if the price had been nothing."""


class FeedbackPrice:
    """The price of one link."""

    __slots__ = (
        "_arrived",
        "_asked",
        "_buffered",
        "_elapsed_s",
        "_exponent",
        "_fresh",
        "_issued",
        "_law",
        "_paid",
        "_updated_at",
        "capacity_packets_per_s",
        "delay_ns",
        "price",
    )

    def __init__(self, law: ImprovedLaw, exponent: float, now: Instant) -> None:
        """Nothing waits, and nothing is asked."""
        self.price = 0.0
        self.capacity_packets_per_s = 0.0
        self.delay_ns: Duration = 0
        self._law = law
        self._exponent = exponent
        self._issued: deque[tuple[int, Instant, float]] = deque(maxlen=REMEMBERED_PRICES)
        self._buffered = 0.0
        self._updated_at = now
        self._elapsed_s = 0.0
        self._fresh = 0.0
        self._arrived = 0.0
        self._paid = 0.0
        self._asked = 0.0

    def issued(self, sequence: int, now: Instant) -> None:
        """The present price is told under this number."""
        self._issued.append((sequence, now, self.price))

    def arrived(self, packets: float, paid: float, sequence: int | None, now: Instant) -> None:
        """Packets were queued on the link; ``sequence`` is the price of this link they name."""
        self._fresh += packets
        self._paid += packets * paid
        if sequence is None or not self._issued:
            return
        index = sequence - self._issued[0][0]
        if 0 <= index < len(self._issued):
            _, issued_at, price = self._issued[index]
            self._asked += packets * price
            delay = now - issued_at
            self.delay_ns += round(DELAY_WEIGHT * (delay - self.delay_ns))

    def update(self, buffered_packets: float, now: Instant) -> float:
        """Set the price by what happened since the last update."""
        elapsed_s = max(now - self._updated_at, 1) / SECOND
        self._measure_capacity(buffered_packets, elapsed_s)
        self._arrived += self._fresh
        self._elapsed_s += elapsed_s
        if self.price > 0 or buffered_packets > 0:
            self._set_price(buffered_packets)
        self._fresh = 0.0
        self._arrived *= MEMORY
        self._paid *= MEMORY
        self._asked *= MEMORY
        self._elapsed_s *= MEMORY
        self._buffered = buffered_packets
        self._updated_at = now
        return self.price

    def _measure_capacity(self, buffered_packets: float, elapsed_s: float) -> None:
        """What left the link while something waited is what it can carry."""
        drained = max(self._fresh - (buffered_packets - self._buffered), 0.0) / elapsed_s
        if buffered_packets > 0 and self._buffered > 0 and self.capacity_packets_per_s:
            self.capacity_packets_per_s += CAPACITY_WEIGHT * (drained - self.capacity_packets_per_s)
        elif buffered_packets > 0 or drained > self.capacity_packets_per_s:
            self.capacity_packets_per_s = max(drained, self.capacity_packets_per_s)

    def _set_price(self, buffered_packets: float) -> None:
        law = self._law
        if self._arrived <= 0:
            self.price *= LARGEST_FALL**self._exponent
            return
        horizon_s = max(law.shortest_drain_ns, law.drain_loops * self.delay_ns) / SECOND
        excess = (buffered_packets - law.target_packets) / horizon_s
        capacity = max(self.capacity_packets_per_s, 1.0)
        wanted = max(capacity - excess, LEAST_WANTED * capacity)
        ratio = min(max(self._arrived / self._elapsed_s / wanted, LARGEST_FALL), LARGEST_RISE)
        paid, asked = self._paid / self._arrived, self._asked / self._arrived
        price = asked + paid * (ratio**self._exponent - 1)
        least = float(price_at(law.highest_rate_packets_per_s, 1.0, self._exponent))
        self.price = price if price > least else 0.0

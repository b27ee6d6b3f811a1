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
   Arrivals are counted over the time in which the link carries ``WINDOW_MESSAGES``, and the horizon
   is a few of those times at least: on a thin link a single message is no flood.
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

WINDOW_MESSAGES: Final = 15.0
"""The counts cover the time in which the link carries so many messages, whose number varies by a
quarter: a price follows the load and not the arrival of single messages."""

SHORTEST_WINDOW_S: Final = 0.125
LONGEST_WINDOW_S: Final = 0.25
"""Bounds of that time: two and a half updates, and five.  The longer a window, the longer a link
takes to find its price: with a second, thin links took more than the 15 s of a held-out case."""

DRAIN_WINDOWS: Final = 3.0
"""A buffer above the target is worked off within so many windows at least: each update of one
window sees the same excess."""

CAPACITY_WINDOWS: Final = 2.0
"""The link's rate is a mean over so many windows: it changes less often than the load."""

TARGET_MESSAGES: Final = 2.0
"""With less the link would run dry between two messages."""

MESSAGE_WEIGHT: Final = 0.1
"""What a message counts in the mean size of messages."""

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
        "_last_at",
        "_law",
        "_message_packets",
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
        self._last_at = now
        self._message_packets = 1.0
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
        self._last_at = now
        self._message_packets += MESSAGE_WEIGHT * (packets - self._message_packets)
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
        window_s = self._window_s()
        self._measure_capacity(buffered_packets, elapsed_s, window_s)
        self._arrived += self._fresh
        self._elapsed_s += elapsed_s
        if self.price > 0 or buffered_packets > 0:
            self._set_price(buffered_packets, window_s, now)
        kept = max(1 - elapsed_s / window_s, 0.0)
        self._fresh = 0.0
        self._arrived *= kept
        self._paid *= kept
        self._asked *= kept
        self._elapsed_s *= kept
        self._buffered = buffered_packets
        self._updated_at = now
        return self.price

    def _window_s(self) -> float:
        """The time that the counts cover."""
        messages_per_s = self.capacity_packets_per_s / max(self._message_packets, 1.0)
        wanted_s = WINDOW_MESSAGES / max(messages_per_s, 1.0)
        return min(max(wanted_s, SHORTEST_WINDOW_S), LONGEST_WINDOW_S)

    def _measure_capacity(self, buffered_packets: float, elapsed_s: float, window_s: float) -> None:
        """What left the link while something waited is what it can carry."""
        drained = max(self._fresh - (buffered_packets - self._buffered), 0.0) / elapsed_s
        if buffered_packets > 0 and self._buffered > 0 and self.capacity_packets_per_s:
            weight = min(elapsed_s / (CAPACITY_WINDOWS * window_s), 1.0)
            self.capacity_packets_per_s += weight * (drained - self.capacity_packets_per_s)
        elif buffered_packets > 0 or drained > self.capacity_packets_per_s:
            self.capacity_packets_per_s = max(drained, self.capacity_packets_per_s)

    def _target_packets(self, capacity_packets_per_s: float) -> float:
        """What should wait: a number of packets, on a thin link less, but two messages."""
        in_time = capacity_packets_per_s * self._law.longest_target_ns / SECOND
        least = TARGET_MESSAGES * self._message_packets
        return min(self._law.target_packets, max(in_time, least))

    def _set_price(self, buffered_packets: float, window_s: float, now: Instant) -> None:
        law = self._law
        drain_s = max(law.shortest_drain_ns, law.drain_loops * self.delay_ns) / SECOND
        horizon_s = max(drain_s, DRAIN_WINDOWS * window_s)
        if self._arrived <= 0 or (now - self._last_at) / SECOND > horizon_s:
            # Whoever would send at the present price is known to send nothing.
            self.price *= LARGEST_FALL**self._exponent
            return
        capacity = max(self.capacity_packets_per_s, 1.0)
        excess = (buffered_packets - self._target_packets(capacity)) / horizon_s
        wanted = max(capacity - excess, LEAST_WANTED * capacity)
        ratio = min(max(self._arrived / self._elapsed_s / wanted, LARGEST_FALL), LARGEST_RISE)
        paid, asked = self._paid / self._arrived, self._asked / self._arrived
        price = asked + paid * (ratio**self._exponent - 1)
        least = float(price_at(law.highest_rate_packets_per_s, 1.0, self._exponent))
        self.price = price if price > least else 0.0

"""The prices of a broker's own links, and those that it knows of the others.

1. A broker sets the price of each of its links when it is told what waits there, at most every
   T_min, and while any of them costs something also when nothing waits: the first zero price goes
   out at the next T_min.
2. A link that costs something, or just ceased to, is told at once; every other at T_max.
3. Whoever hears a later price of a link passes it on, whoever knew it does not; see
   ``price_spread`` for whom it is passed on to.
4. One record is kept for each link, whatever the number of senders, groups and members.
5. Numbers that no price can be, which only a broken neighbour sends, are not taken in: an infinite
   price would leave a sender a rate of nothing, and one that is not a number would never go away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.benefit import EXPONENTS
from penstock.services.multicast.laws.improved_price import FeedbackPrice
from penstock.services.multicast.laws.paper_price import paper_price
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.parameters import MulticastParameters

MAX_KNOWN_LINKS = 1 << 16
"""Prices that are remembered: far more than an overlay has links."""

HIGHEST_PRICE = 1e9
"""Far more than the paper's price at ten soft limits, 256,000; under the improved law it leaves a
sender a packet in more years than there were."""

EARLY: Duration = 5 * MILLISECOND
"""A measurement that comes so much before its time still counts: both beat at the same rate."""


class OwnLink:
    """One link of this broker, in the direction away from it."""

    __slots__ = ("feedback", "number", "price", "sequence", "told_at")

    def __init__(self, number: int, parameters: MulticastParameters, now: Instant) -> None:
        """It costs nothing.  Sequences begin at the time, so that a restart goes on above."""
        self.number = number
        self.price = 0.0
        self.sequence = now // parameters.update_min_ns
        self.told_at: Instant = now
        self.feedback = FeedbackPrice(parameters.improved, EXPONENTS[parameters.benefit], now)

    def record(self) -> PriceRecord:
        """What is told of it."""
        return PriceRecord(self.number, self.sequence, self.price)


class Pricing:
    """All prices that one broker knows."""

    def __init__(
        self, broker: str, parameters: MulticastParameters, queued_bytes: Mapping[LinkName, int]
    ) -> None:
        """``queued_bytes`` is kept up to date by the broker."""
        self._broker = broker
        self._parameters = parameters
        self._queued_bytes = queued_bytes
        self._own: dict[LinkName, OwnLink] = {}
        self._known: dict[int, PriceRecord] = {}
        self._updated_at: Instant = 0
        self._due_at: Instant | None = None

    # -- this broker's links ----------------------------------------------------------------

    def link_up(self, link: LinkName, now: Instant) -> None:
        """A link is there, empty."""
        own = self._own[link] = OwnLink(link_number(self._broker, link), self._parameters, now)
        before = self._known.get(own.number)
        if before is not None:
            own.sequence = max(own.sequence, before.sequence)
        self._due_at = self._next_due()

    def link_down(self, link: LinkName) -> None:
        """Nobody can send over it."""
        own = self._own.pop(link, None)
        if own is not None:
            self._known.pop(own.number, None)
        self._due_at = self._next_due()

    def sent(
        self, link: LinkName, packets: float, paid: float, named: tuple[int, int], now: Instant
    ) -> None:
        """A message was queued on a link; ``named`` is the link and price that it goes by."""
        own = self._own.get(link)
        if own is not None:
            sequence = named[1] if named[0] == own.number else None
            own.feedback.arrived(packets, paid if _is_price(paid) else 0.0, sequence, now)

    def update(self, now: Instant) -> list[PriceRecord]:
        """Set the prices anew if it is time; what must be told."""
        if now - self._updated_at < self._parameters.update_min_ns - EARLY:
            return []
        self._updated_at = now
        told = []
        for link, own in self._own.items():
            before = own.price
            own.price = self._price(link, own, now)
            due = now - own.told_at >= self._parameters.update_max_ns
            if own.price > 0 or before > 0 or due:
                own.told_at = now
                own.sequence += 1
                own.feedback.issued(own.sequence, now)
                record = own.record()
                self._known[own.number] = record
                told.append(record)
        self._due_at = self._next_due()
        return told

    def _price(self, link: LinkName, own: OwnLink, now: Instant) -> float:
        packets = self._queued_bytes.get(link, 0) / self._parameters.packet_bytes
        if self._parameters.law == "paper":
            return paper_price(packets, self._parameters.paper)
        return own.feedback.update(packets, now)

    def own_price(self, link: LinkName) -> float:
        """What one of this broker's links costs."""
        own = self._own.get(link)
        return 0.0 if own is None else own.price

    def next_deadline(self) -> Instant | None:
        """When a price must be set, or told again, although nothing was measured."""
        return self._due_at

    def _next_due(self) -> Instant | None:
        if not self._own:
            return None
        if any(own.price > 0 for own in self._own.values()):
            return self._updated_at + self._parameters.update_min_ns + 2 * EARLY
        first = min(own.told_at for own in self._own.values())
        again = first + self._parameters.update_max_ns
        return max(again, self._updated_at + self._parameters.update_min_ns)

    def may_change(self) -> bool:
        """Whether a price may have to rise, or to fall."""
        costs = any(own.price > 0 for own in self._own.values())
        return costs or any(self._queued_bytes.values())

    # -- everybody's links ------------------------------------------------------------------

    def learn(self, records: Iterable[PriceRecord]) -> list[PriceRecord]:
        """Take prices in; those that were news."""
        news = []
        for record in records:
            if not _is_price(record.price):
                continue
            known = self._known.get(record.link)
            if known is not None and known.sequence >= record.sequence:
                continue
            if known is None and len(self._known) >= MAX_KNOWN_LINKS:
                continue
            self._known[record.link] = record
            news.append(record)
        return news

    def records(self) -> list[PriceRecord]:
        """What costs something, for a new neighbour."""
        return [record for record in self._known.values() if record.price > 0]

    def price(self, number: int) -> float:
        """What a link costs; one of which nothing was heard costs nothing."""
        record = self._known.get(number)
        return 0.0 if record is None else record.price

    def total(self, numbers: Iterable[int]) -> tuple[float, tuple[int, int]]:
        """The price of a tree, and the dearest link on it with the number of its price."""
        total, highest, named = 0.0, 0.0, (0, 0)
        for number in numbers:
            record = self._known.get(number)
            if record is not None and record.price > 0:
                total += record.price
                if record.price > highest:
                    highest, named = record.price, (number, record.sequence)
        return total, named

    def own_links(self) -> dict[LinkName, OwnLink]:
        """For telemetry."""
        return self._own


def _is_price(number: float) -> bool:
    """Whether it can be one; what is not a number compares false with everything."""
    return 0 <= number <= HIGHEST_PRICE

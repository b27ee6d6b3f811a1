"""The prices of a broker's own links, and the prices of other links that it knows.

1. A broker sets the price of each of its links when it learns what waits there, at most every
   T_min.  While any of them has a price above zero it does so even if nothing waits, so the first
   zero price is announced at the next T_min.
2. A price above zero, and the first zero after one, is announced at once; others every T_max.
3. A broker passes on a price only if it is later than the one it knew; ``spread`` decides to
   which neighbours.
4. One record is kept for each link, whatever the number of senders, groups and members.
5. Numbers that cannot be prices come only from a broken neighbour and are ignored: an infinite
   price would give a sender a rate of zero, and NaN would never be replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.core.clock import MILLISECOND, Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.laws.law import LinkPrice, MulticastLaw
from penstock.services.multicast.messages import PriceRecord
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.names import named_sequence, names_of, tag_of, without

MAX_KNOWN_LINKS = 1 << 16
"""Prices kept: far more than an overlay has links."""

HIGHEST_PRICE = 1e9
"""Far more than the paper's price at ten soft limits, 256,000; under the improved law a sender
would get less than one packet in a million years."""

EARLY: Duration = 5 * MILLISECOND
"""A measurement may come this much before T_min has passed: measurements and updates have the same
period, and would otherwise miss each other."""


class OwnLink:
    """One link of this broker, in the direction away from it."""

    __slots__ = ("law", "number", "price", "sequence", "tag", "told_at", "told_bytes")

    def __init__(self, number: int, law: LinkPrice, first_sequence: int, now: Instant) -> None:
        self.number = number
        self.tag = tag_of(number)
        self.price = 0.0
        self.sequence = first_sequence
        self.told_at: Instant = now
        self.told_bytes = 0.0
        """What its prices took on all links of this broker."""
        self.law = law

    def record(self) -> PriceRecord:
        """The present price, as it is announced."""
        return PriceRecord(self.number, self.sequence, self.price)


class Pricing:
    """All prices that one broker knows."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        law: MulticastLaw,
        queued_bytes: Mapping[LinkName, int],
    ) -> None:
        """``queued_bytes`` is kept up to date by the broker."""
        self._broker = broker
        self._parameters = parameters
        self._law = law
        self._queued_bytes = queued_bytes
        self._own: dict[LinkName, OwnLink] = {}
        self._known: dict[int, PriceRecord] = {}
        self._updated_at: Instant = 0
        self._due_at: Instant | None = None

    # -- this broker's links ----------------------------------------------------------------

    def link_up(self, link: LinkName, now: Instant) -> None:
        """Add a link, which is free until something waits on it.

        Sequences start at the time, so that they continue above the earlier ones after a restart.
        """
        first_sequence = now // self._parameters.update_min_ns
        number = link_number(self._broker, link)
        own = self._own[link] = OwnLink(number, self._law.price_link(now), first_sequence, now)
        before = self._known.get(own.number)
        if before is not None:
            own.sequence = max(own.sequence, before.sequence)
        self._due_at = self._next_due()

    def link_down(self, link: LinkName) -> None:
        """Remove a link."""
        own = self._own.pop(link, None)
        if own is not None:
            self._known.pop(own.number, None)
        self._due_at = self._next_due()

    def sent(
        self, link: LinkName, packets: float, paid: float, named: tuple[int, ...], now: Instant
    ) -> None:
        """Count a message that was queued on a link and names these prices."""
        own = self._own.get(link)
        if own is not None:
            sequence = named_sequence(named, own.tag, own.sequence) if named else None
            own.law.arrived(packets, paid if _is_price(paid) else 0.0, sequence, now)

    def update(self, now: Instant) -> list[PriceRecord]:
        """Set the prices of the own links if it is time; return those to announce."""
        if now - self._updated_at < self._parameters.update_min_ns - EARLY:
            return []
        self._updated_at = now
        told = []
        for link, own in self._own.items():
            before = own.price
            packets = self._queued_bytes.get(link, 0) / self._parameters.packet_bytes
            own.price = own.law.update(packets, now)
            due = now - own.told_at >= self._parameters.update_max_ns
            if own.price > 0 or before > 0 or due:
                own.told_at = now
                own.sequence += 1
                own.law.issued(own.sequence, now)
                record = own.record()
                self._known[own.number] = record
                told.append(record)
        self._due_at = self._next_due()
        return told

    def count_told(self, records: Iterable[PriceRecord], each_bytes: float) -> None:
        """Count what the prices of this broker's own links took on their way to a neighbour."""
        for record in records:
            for own in self._own.values():
                if own.number == record.link:
                    own.told_bytes += each_bytes

    def own_price(self, link: LinkName) -> float:
        """The price of one of this broker's links."""
        own = self._own.get(link)
        return 0.0 if own is None else own.price

    def next_deadline(self) -> Instant | None:
        """When a price must be set or announced again although nothing was measured."""
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
        """Whether a price may have to change: something waits, or a link has a price."""
        costs = any(own.price > 0 for own in self._own.values())
        return costs or any(self._queued_bytes.values())

    # -- all links --------------------------------------------------------------------------

    def learn(self, records: Iterable[PriceRecord]) -> list[PriceRecord]:
        """Take in prices that a neighbour announced; return those that are news."""
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
        """All prices above zero, for a new neighbour."""
        return [record for record in self._known.values() if record.price > 0]

    def price(self, number: int) -> float:
        """The price of a link; zero if none was announced."""
        record = self._known.get(number)
        return 0.0 if record is None else record.price

    def total(self, numbers: Iterable[int]) -> tuple[float, tuple[int, ...]]:
        """The price of a tree, and the names of the prices that it consists of."""
        known = (self._known.get(number) for number in numbers)
        priced = [each for each in known if each is not None and each.price > 0]
        return sum([each.price for each in priced]), names_of(priced)

    def names_ahead(self, named: tuple[int, ...]) -> tuple[int, ...]:
        """What of a message's names other brokers can use."""
        return without(named, [own.tag for own in self._own.values()]) if named else named

    def own_links(self) -> dict[LinkName, OwnLink]:
        """The links of this broker, for telemetry."""
        return self._own


def _is_price(number: float) -> bool:
    """Whether a number can be a price; NaN compares false with everything."""
    return 0 <= number <= HIGHEST_PRICE

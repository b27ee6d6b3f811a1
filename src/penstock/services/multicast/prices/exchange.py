"""The exchange of prices between a broker and its neighbours.

A broker's own prices and later prices of other links (``pricing``) go to the neighbours that need
them (``spread``): on a message that goes the same way, where one is expected (``riders``), and
otherwise in a frame of their own with priority over data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.content.codec.size import encoded_size
from penstock.core.clock import Instant, earliest
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Topology
from penstock.services.multicast.laws.law import MulticastLaw
from penstock.services.multicast.messages import PriceRecord, Prices
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.prices.riders import RIDER_BYTES, PriceRiders
from penstock.services.multicast.prices.spread import PriceSpread, SendingBrokers


class PriceExchange:
    """Prices between one broker and its neighbours."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        law: MulticastLaw,
        topology: Topology,
        groups: SendingBrokers,
        queued_bytes: Mapping[LinkName, int],
    ) -> None:
        """``topology``, ``groups`` and ``queued_bytes`` are kept up to date by the broker."""
        self.pricing = Pricing(broker, parameters, law, queued_bytes)
        self.riders = PriceRiders(parameters.ride_wait_ns)
        self._spread = PriceSpread(broker, topology, groups)
        self._queued_bytes = queued_bytes
        self._links: dict[LinkName, None] = {}

    def link_up(self, link: LinkName, now: Instant, out: list[Effect]) -> None:
        """Announce all prices above zero to a new neighbour."""
        self._links[link] = None
        self.pricing.link_up(link, now)
        self.riders.link_up(link)
        self._tell(link, self.pricing.records(), now, out)

    def link_down(self, link: LinkName) -> None:
        self._links.pop(link, None)
        self.pricing.link_down(link)
        self.riders.link_down(link)

    def routes_changed(self) -> None:
        """Decide again which neighbours need which prices: the trees have changed."""
        self._spread.routes_changed()

    def senders_changed(self) -> None:
        """Decide again which neighbours need which prices: other brokers have senders."""
        self._spread.senders_changed()

    def board(self, link: LinkName, now: Instant) -> tuple[PriceRecord, ...]:
        """The prices that a message over this link takes along."""
        taken = self.riders.board(link, now)
        if taken:
            self.pricing.count_told(taken, RIDER_BYTES)
        return taken

    def update(self, now: Instant, out: list[Effect]) -> bool:
        """Set the prices of this broker's links if it is time; whether any was announced."""
        told = self.pricing.update(now)
        self._pass_on(told, "", now, out)
        return bool(told)

    def learn(
        self, link: LinkName, records: Iterable[PriceRecord], now: Instant, out: list[Effect]
    ) -> bool:
        """Take in a neighbour's prices and pass on the news; whether there was any."""
        news = self.pricing.learn(records)
        self._pass_on(news, link, now, out)
        return bool(news)

    def _pass_on(
        self, records: list[PriceRecord], came_from: LinkName, now: Instant, out: list[Effect]
    ) -> None:
        for link in self._links:
            if link != came_from:
                self._tell(link, records, now, out)

    def _tell(
        self, link: LinkName, records: list[PriceRecord], now: Instant, out: list[Effect]
    ) -> None:
        wanted = self._spread.wanted_by(link, records)
        if not wanted:
            return
        alone = self.riders.offer(link, wanted, now, link_is_free=self.is_free(link))
        self._send_alone(link, alone, out)

    def is_free(self, link: LinkName) -> bool:
        """Whether nothing waits on a link and it costs nothing."""
        return not self._queued_bytes.get(link) and self.pricing.own_price(link) == 0

    def deadline(self, now: Instant, out: list[Effect]) -> bool:
        """Send prices that waited long enough, and set those that are due; whether any was."""
        for link, records in self.riders.overdue(now):
            self._send_alone(link, records, out)
        at = self.pricing.next_deadline()
        return at is not None and at <= now and self.update(now, out)

    def next_deadline(self) -> Instant | None:
        return earliest(self.pricing.next_deadline(), self.riders.next_deadline())

    def _send_alone(
        self, link: LinkName, records: tuple[PriceRecord, ...], out: list[Effect]
    ) -> None:
        if records:
            message = Prices(records)
            self.pricing.count_told(records, encoded_size(message) / len(records))
            out.append(Send(link, message, Priority.CONTROL))

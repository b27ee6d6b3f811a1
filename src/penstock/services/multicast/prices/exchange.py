"""What a broker says and hears of prices.

Its own prices (``pricing``) and the news of others are passed on to the neighbours behind which
somebody can use them (``price_spread``): on a message that goes the same way, where one can be
expected (``price_riders``), otherwise in a frame of their own with priority over data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from penstock.core.clock import Instant, earliest
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Topology
from penstock.services.multicast.messages import PriceRecord, Prices
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.prices.riders import PriceRiders
from penstock.services.multicast.prices.spread import PriceSpread


class PriceExchange:
    """Prices between one broker and its neighbours."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        topology: Topology,
        sending: Callable[[], Iterable[str]],
        queued_bytes: Mapping[LinkName, int],
    ) -> None:
        """``topology`` and ``queued_bytes`` are kept up to date; ``sending`` have senders."""
        self.pricing = Pricing(broker, parameters, queued_bytes)
        self.riders = PriceRiders(parameters.ride_wait_ns)
        self.spread = PriceSpread(broker, topology, sending)
        self._queued_bytes = queued_bytes
        self._links: dict[LinkName, None] = {}

    def link_up(self, link: LinkName, now: Instant, out: list[Effect]) -> None:
        """A neighbour is there: tell it what costs something."""
        self._links[link] = None
        self.pricing.link_up(link, now)
        self.riders.link_up(link)
        self._tell(link, self.pricing.records(), now, out)

    def link_down(self, link: LinkName) -> None:
        """A neighbour is gone."""
        self._links.pop(link, None)
        self.pricing.link_down(link)
        self.riders.link_down(link)

    def update(self, now: Instant, out: list[Effect]) -> bool:
        """Set the prices of this broker's links if it is time; whether any was told."""
        told = self.pricing.update(now)
        self._pass_on(told, "", now, out)
        return bool(told)

    def learn(
        self, link: LinkName, records: Iterable[PriceRecord], now: Instant, out: list[Effect]
    ) -> bool:
        """A neighbour tells prices; whether any was news."""
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
        wanted = self.spread.wanted_by(link, records)
        if not wanted:
            return
        is_free = not self._queued_bytes.get(link) and self.pricing.own_price(link) == 0
        _send_alone(link, self.riders.offer(link, wanted, now, link_is_free=is_free), out)

    def deadline(self, now: Instant, out: list[Effect]) -> bool:
        """Whatever is due; whether a price was told."""
        for link, records in self.riders.overdue(now):
            _send_alone(link, records, out)
        at = self.pricing.next_deadline()
        return at is not None and at <= now and self.update(now, out)

    def next_deadline(self) -> Instant | None:
        """When prices are due."""
        return earliest(self.pricing.next_deadline(), self.riders.next_deadline())


def _send_alone(link: LinkName, records: tuple[PriceRecord, ...], out: list[Effect]) -> None:
    if records:
        out.append(Send(link, Prices(records), Priority.CONTROL))

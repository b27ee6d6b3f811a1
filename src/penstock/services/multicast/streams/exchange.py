"""The messages between this broker and the others, in both directions.

``outbound`` holds the streams that begin at this broker, ``inbound`` those that end here.  They
return the messages and confirmations to send; this class sends them on their way:

1. A message goes to the members here, and once over each link that leads to another receiver.
2. A confirmation goes to the origin of its stream, on the shortest path; on a full link it waits
   for others (``confirmations``).
3. A message or confirmation for this broker itself is handled at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from penstock.core.clock import Instant, earliest
from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.core.trees import Topology
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.groups.route import MAX_HOPS, next_links
from penstock.services.multicast.messages import Multicast, MulticastReceived, Reception
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.streams.confirmations import Confirmations
from penstock.services.multicast.streams.inbound import Inbound
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.stream import HEAD_BYTES, Bought

FLOW = "multicast"
"""On a link whose flows take turns, all multicast messages are one flow."""


class StreamExchange:
    """All streams of one broker."""

    def __init__(
        self,
        broker: str,
        incarnation: int,
        parameters: MulticastParameters,
        topology: Topology,
        members: Members,
        prices: PriceExchange,
    ) -> None:
        """``topology`` is kept up to date by the broker."""
        self.outbound = Outbound(broker, incarnation, parameters, topology)
        self.inbound = Inbound(broker, incarnation, parameters, members)
        self._broker = broker
        self._packet_bytes = parameters.packet_bytes
        self._topology = topology
        self._confirmations = Confirmations()
        self._prices = prices
        self._pricing = prices.pricing
        self._next_hops: Mapping[str, LinkName] = {}

    # -- messages ---------------------------------------------------------------------------

    def transmit(
        self, bought: Bought, incarnations: Mapping[str, int], now: Instant, out: list[Effect]
    ) -> None:
        """Send a message that was paid for; ``incarnations`` are those of its receivers."""
        message = self.outbound.transmit(bought, incarnations, now, out)
        if message is not None:
            self._forward(message, "", now, out)

    def arrived(self, link: LinkName, message: Multicast, now: Instant, out: list[Effect]) -> None:
        """Deliver a neighbour's message here, and pass it on; too many hops end a loop."""
        if message.hops < MAX_HOPS:
            self._forward(message, link, now, out)

    def _forward(
        self, message: Multicast, came_from: LinkName, now: Instant, out: list[Effect]
    ) -> None:
        onward = []
        for destination in message.destinations:
            if destination.broker == self._broker:
                confirmation = self.inbound.arrived(message, destination, now, out)
                if confirmation is not None:
                    self.confirm(confirmation, now, out)
            else:
                onward.append(destination)
        if not onward:
            return
        ahead = self._pricing.names_ahead(message.named)
        packets = (message.batch.wire_size + HEAD_BYTES) / self._packet_bytes
        links = next_links(self._broker, came_from, message.origin, onward, self._topology.parents)
        for link, behind in links.items():
            passed_on = msgspec.structs.replace(
                message,
                destinations=tuple(behind),
                named=ahead,
                hops=message.hops + 1,
                prices=self._prices.board(link, now),
            )
            self._pricing.sent(link, packets, message.paid, message.named, now)
            out.append(Send(link, passed_on, Priority.DATA, FLOW))
            size_bytes = message.batch.wire_size + HEAD_BYTES
            frame = self._confirmations.message_sent(link, size_bytes, now)
            if frame is not None:
                out.append(Send(link, frame, Priority.CONTROL))

    def _repeat(self, messages: Iterable[Multicast], now: Instant, out: list[Effect]) -> None:
        for message in messages:
            self._forward(message, "", now, out)

    # -- confirmations ----------------------------------------------------------------------

    def confirmed(self, message: MulticastReceived, now: Instant, out: list[Effect]) -> None:
        """Take in a neighbour's confirmations, or pass them on."""
        for reception in message.receptions:
            self.confirm(reception, now, out)

    def confirm(self, confirmation: Reception, now: Instant, out: list[Effect]) -> None:
        """Send a confirmation to the origin of its stream, which may be this broker."""
        if confirmation.origin == self._broker:
            self._repeat(self.outbound.received(confirmation, now, out), now, out)
            return
        link = self._next_hops.get(confirmation.origin)
        if link is not None:
            is_free = self._prices.is_free(link)
            frame = self._confirmations.offer(link, confirmation, now, link_is_free=is_free)
            if frame is not None:
                out.append(Send(link, frame, Priority.CONTROL))

    def room_made(self, now: Instant, out: list[Effect]) -> None:
        """Continue the streams that waited for a member, now that one has room."""
        for origin in self.inbound.held_origins():
            self.confirm(self.inbound.resume(origin, now, out), now, out)

    # -- the overlay, and time --------------------------------------------------------------

    def link_down(self, link: LinkName) -> None:
        self._confirmations.link_down(link)

    def routes_changed(
        self, next_hops: Mapping[str, LinkName], now: Instant, out: list[Effect]
    ) -> None:
        """Repeat what may have been lost on paths that have changed."""
        self._next_hops = next_hops
        self._repeat(self.outbound.routes_changed(now), now, out)

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Send the confirmations that are due, and probe streams without progress."""
        for confirmation in self.inbound.deadline(now):
            self.confirm(confirmation, now, out)
        for link, frame in self._confirmations.overdue(now):
            out.append(Send(link, frame, Priority.CONTROL))
        self._repeat(self.outbound.deadline(now), now, out)

    def next_deadline(self) -> Instant | None:
        return earliest(
            self.inbound.next_deadline(),
            self.outbound.next_deadline(),
            self._confirmations.next_deadline(),
        )

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if a stream is in an impossible state."""
        self.inbound.check_invariants()
        self.outbound.check_invariants()

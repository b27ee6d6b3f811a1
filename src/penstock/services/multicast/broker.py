"""The multicast service at one broker.

1. A client's message waits until its sender's account pays for it (``senders``), is numbered for
   every broker with members and sent along the sender's tree (``outbound``, ``route``), is handed
   to the members there in order (``inbound``, ``members``), confirmed, and then receipted.
2. Prices of the links are set from what waits on them and told to those whose trees contain them
   (``price_exchange``); a new price lets everybody who waits ask again.
3. Membership is flooded and kept in step (``groups``).

On the way a broker keeps a record for each of its links, and nothing for a sender or a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from penstock.core.clock import Duration, Instant, earliest
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.randomness import random_stream
from penstock.core.service import Service
from penstock.core.trace import TraceRecord
from penstock.core.trees import Topology, Tree
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.multicast.admission import send_objection
from penstock.services.multicast.groups.groups import Groups
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.groups.reception import Reception
from penstock.services.multicast.groups.route import MAX_HOPS, Route, next_links
from penstock.services.multicast.messages import (
    AskGroups,
    CloseGroupSender,
    GroupSendRefused,
    GroupTaken,
    JoinGroup,
    LeaveGroup,
    Membership,
    MembershipChange,
    MembershipTold,
    MembershipWanted,
    Multicast,
    MulticastReceived,
    OpenGroupSender,
    Prices,
    SendToGroups,
    WhySender,
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.streams.inbound import Inbound
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.senders import HEAD_BYTES, Bought, GroupSender, Senders
from penstock.services.multicast.telemetry import service_records

FLOW = "multicast"
"""On a link whose flows take turns, all multicast messages are one."""


class MulticastBroker(Service):
    """Groups, senders and prices of one broker."""

    def __init__(
        self,
        broker: str,
        parameters: MulticastParameters,
        topology: Topology,
        *,
        queued_bytes: Mapping[LinkName, int],
        now: Instant,
    ) -> None:
        """``topology`` and ``queued_bytes`` are kept up to date by the broker."""
        self.broker = broker
        self.parameters = parameters
        self._topology = topology
        self._hops: Mapping[str, LinkName] = {}
        self._settled = False
        self._deadlines: Deadlines[str] = Deadlines()
        parents_of = topology.parents
        self.members = Members(parameters)
        self.groups = Groups(
            broker, now, parameters, self.members, parents_of, topology.incarnation
        )
        sending = self.groups.sending_brokers
        self.prices = PriceExchange(broker, parameters, topology, sending, queued_bytes)
        self.pricing = self.prices.pricing
        self.outbound = Outbound(broker, now, parameters, parents_of, self._forward)
        self.inbound = Inbound(broker, now, parameters, self.members, self._confirm)
        self.senders = Senders(
            parameters,
            random_stream(now, broker, "multicast"),
            route_of=self.groups.route,
            price_of=self.price_of,
            round_trip_of=self._round_trip,
        )
        self._reception = reception = Reception(
            broker,
            parameters,
            self.groups,
            self.members,
            self.senders,
            self.inbound,
            self.outbound,
            self.pricing,
            senders_changed=self._senders_changed,
        )
        self._on: dict[type[Message], Callable[[LinkName, Any, Instant, list[Effect]], None]] = {
            Multicast: self._multicast,
            MulticastReceived: self._received_confirmation,
            Prices: self._prices_told,
            Membership: self._membership,
            MembershipChange: self._membership,
            MembershipTold: self._membership_told,
            MembershipWanted: self._membership_wanted,
            SendToGroups: self._send_to_groups,
            GroupTaken: reception.taken,
            OpenGroupSender: reception.open_sender,
            CloseGroupSender: reception.close_sender,
            JoinGroup: reception.join,
            LeaveGroup: reception.leave,
            AskGroups: reception.ask_groups,
            WhySender: reception.why_sender,
        }

    # -- the service contract ---------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Nothing is to be done before a neighbour is there."""
        return []

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Trees are other than before."""
        out: list[Effect] = []
        self._hops = next_hops
        self.prices.spread.routes_changed()
        self.groups.routes_changed(now, out)
        self.outbound.forget_restarted(self.groups.incarnation, out)
        self.outbound.routes_changed(now, out)
        self._pump_all(now, out)
        return out

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """Now it is known who is a member, as far as the neighbours know."""
        out: list[Effect] = []
        self._settled = True
        self._pump_all(now, out)
        return out

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is there: tell it what costs something, and who is in which group."""
        out: list[Effect] = []
        self.groups.link_up(link, out)
        self.prices.link_up(link, now, out)
        return out

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """A neighbour is gone."""
        self.prices.link_down(link)
        self.groups.link_down(link)
        out: list[Effect] = []
        self._pump_all(now, out)
        return out

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """One of the service's messages."""
        out: list[Effect] = []
        self._on[type(message)](link, message, now, out)
        self._pump_if_settled(now, out)
        return out

    def queues_measured(self, now: Instant) -> list[Effect]:
        """The broker was told what waits on its links."""
        out: list[Effect] = []
        if self.pricing.may_change() and self.prices.update(now, out):
            self._pump_all(now, out)
        return out

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """A client is gone, out of its groups, and what it had waiting with it."""
        out: list[Effect] = []
        self._reception.session_closed(session, now, out)
        self._pump_if_settled(now, out)
        return out

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def deadline(self, now: Instant) -> list[Effect]:
        """Whatever is due."""
        out: list[Effect] = []
        if self.prices.deadline(now, out):
            self._pump_all(now, out)
        for broker in self.groups.deadline(now, out):
            self.outbound.departed(broker, out)
        self.inbound.deadline(now, out)
        self.outbound.deadline(now, out)
        out += self.members.close_slow(now)
        for producer in self._deadlines.pop_due(now):
            sender = self.senders.get(producer)
            if sender is not None:
                self._pump(sender, now, out)
        self._pump_if_settled(now, out)
        return out

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        return earliest(
            self.prices.next_deadline(),
            self.groups.next_deadline(),
            self.inbound.next_deadline(),
            self.outbound.next_deadline(),
            self.members.next_deadline(),
            self._deadlines.earliest(),
        )

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(
            self.broker, self.prices, self.senders, self.outbound, self.inbound, now
        )

    def check_invariants(self) -> None:
        """Streams are in a possible state."""
        self.inbound.check_invariants()
        self.outbound.check_invariants()

    # -- sending ----------------------------------------------------------------------------

    def _send_to_groups(
        self, session: LinkName, message: SendToGroups, now: Instant, out: list[Effect]
    ) -> None:
        sender = self.senders.get(message.producer)
        problem = send_objection(message, self.parameters, self.groups.exists)
        if not problem and (sender is None or sender.session != session):
            problem = f"sender {message.producer!r} is not open in this session: open it first"
        if not problem and sender is not None:
            problem = self.senders.add(sender, message, now)
        if problem or sender is None:
            first, count = message.first_sequence, len(message.batch)
            refusal = GroupSendRefused(message.producer, first, count, problem)
            out.append(Send(session, refusal, Priority.CONTROL))
            return
        self._pump(sender, now, out)

    def _pump(self, sender: GroupSender, now: Instant, out: list[Effect]) -> None:
        """Send what a sender may send now, and know when to ask again."""
        if not self._is_ready:
            return
        while self.outbound.has_room():
            bought = self.senders.next_bought(sender, now)
            if not isinstance(bought, Bought):
                self._deadlines.set(sender.producer, bought)
                return
            self._transmit(bought, now, out)
        # Whoever waits for the window is asked when something was confirmed.
        self._deadlines.set(sender.producer, None)

    @property
    def _is_ready(self) -> bool:
        """A broker that was just started must hear who is a member before it sends to them."""
        return self._settled and self.groups.is_informed

    def _transmit(self, bought: Bought, now: Instant, out: list[Effect]) -> None:
        brokers = {each: self.groups.incarnation(each) for each in bought.route.brokers}
        self.outbound.transmit(
            bought.request,
            brokers,
            session=bought.session,
            size_bytes=bought.size_bytes,
            paid=bought.paid,
            named=bought.named,
            waited_ns=bought.waited_ns,
            now=now,
            out=out,
        )

    def _pump_all(self, now: Instant, out: list[Effect]) -> None:
        self.outbound.settled_since_asked = False
        for sender in self.senders.waiting():
            self._pump(sender, now, out)

    def _pump_if_settled(self, now: Instant, out: list[Effect]) -> None:
        """The window has room again, perhaps: those who waited for it have no deadline."""
        if self.outbound.settled_since_asked:
            self.outbound.settled_since_asked = False
            for sender in self.senders.waiting():
                if sender.producer not in self._deadlines:
                    self._pump(sender, now, out)

    def price_of(self, route: Route) -> tuple[float, tuple[int, int]]:
        """The price of a tree, and the dearest link on it."""
        return self.pricing.total(link.number for link in route.links)

    def _round_trip(self, route: Route) -> Duration:
        return self.outbound.round_trip_ns(route.brokers)

    # -- on the way -------------------------------------------------------------------------

    def _multicast(
        self, link: LinkName, message: Multicast, now: Instant, out: list[Effect]
    ) -> None:
        if message.prices and self.prices.learn(link, message.prices, now, out):
            self._pump_all(now, out)
        if message.hops < MAX_HOPS:
            self._forward(message, link, now, out)

    def _forward(
        self, message: Multicast, came_from: LinkName, now: Instant, out: list[Effect]
    ) -> None:
        """Hand a message to the members here, and pass it on to the brokers behind this one."""
        onward = []
        for destination in message.destinations:
            if destination.broker == self.broker:
                self.inbound.arrived(message, destination, now, out)
            else:
                onward.append(destination)
        if not onward:
            return
        parents_of = self._topology.parents
        named = (message.named_link, message.named_price)
        packets = (message.batch.wire_size + HEAD_BYTES) / self.parameters.packet_bytes
        links = next_links(self.broker, came_from, message.origin, onward, parents_of)
        for link, behind in links.items():
            passed_on = msgspec.structs.replace(
                message,
                destinations=tuple(behind),
                hops=message.hops + 1,
                prices=self.prices.riders.board(link, now),
            )
            self.pricing.sent(link, packets, message.paid, named, now)
            out.append(Send(link, passed_on, Priority.DATA, FLOW))

    def _confirm(self, confirmation: MulticastReceived, now: Instant, out: list[Effect]) -> None:
        """Send a confirmation to the origin of a stream, which may be this broker."""
        if confirmation.origin == self.broker:
            self.outbound.received(confirmation, now, out)
            return
        link = self._hops.get(confirmation.origin)
        if link is not None:
            out.append(Send(link, confirmation, Priority.CONTROL))

    def _received_confirmation(
        self, link: LinkName, message: MulticastReceived, now: Instant, out: list[Effect]
    ) -> None:
        self._confirm(message, now, out)

    # -- prices -----------------------------------------------------------------------------

    def _prices_told(
        self, link: LinkName, message: Prices, now: Instant, out: list[Effect]
    ) -> None:
        if self.prices.learn(link, message.records, now, out):
            self._pump_all(now, out)

    def _senders_changed(self, out: list[Effect]) -> None:
        """Prices are told to brokers that have senders."""
        if self.groups.sends(len(self.senders) > 0, out):
            self.prices.spread.senders_changed()

    # -- membership -------------------------------------------------------------------------

    def _membership(
        self,
        link: LinkName,
        message: Membership | MembershipChange,
        now: Instant,
        out: list[Effect],
    ) -> None:
        self.groups.learn(link, message, out)
        self.prices.spread.senders_changed()
        self.outbound.forget_restarted(self.groups.incarnation, out)

    def _membership_told(
        self, link: LinkName, message: MembershipTold, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.told(link)
        self._pump_all(now, out)

    def _membership_wanted(
        self, link: LinkName, message: MembershipWanted, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.asked(link, message.broker, out)

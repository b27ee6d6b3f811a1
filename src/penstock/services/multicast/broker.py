"""The multicast service at one broker.

1. A client's message waits until its sender's account pays for it (``streams.senders``).  It is
   numbered for every broker with members and sent along the sender's tree (``streams.outbound``,
   ``groups.route``), delivered to the members there in order (``streams.inbound``,
   ``groups.members``), and confirmed; then the client gets its receipt.
2. Links are priced by what waits on them, and prices go to the brokers whose trees contain the link
   (``prices``).  A new price lets every waiting sender ask again.
3. Membership is flooded and kept in step (``groups``).

A broker on the path keeps one record for each of its links, and nothing for a sender or a group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.core.clock import Instant, earliest
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.randomness import random_stream
from penstock.core.service import Service
from penstock.core.trace import TraceRecord
from penstock.core.trees import Topology, Tree
from penstock.core.why import Asker
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.multicast.admission import send_objection
from penstock.services.multicast.groups.client_requests import ClientRequests
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.groups.members import Members
from penstock.services.multicast.laws.choice import chosen_law
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
)
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.exchange import PriceExchange
from penstock.services.multicast.streams.exchange import StreamExchange
from penstock.services.multicast.streams.senders import LocalSender, Senders
from penstock.services.multicast.streams.stream import Bought
from penstock.services.multicast.telemetry import service_records

OnMessage = Callable[[LinkName, Any, Instant, list[Effect]], None]


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
        self._settled = False
        self._deadlines: Deadlines[str] = Deadlines()
        law = chosen_law(parameters, random_stream(now, broker, "multicast"))
        self.members = Members(parameters)
        self.groups = GroupDirectory(broker, now, parameters, self.members, topology)
        self.prices = PriceExchange(broker, parameters, law, topology, self.groups, queued_bytes)
        self.pricing = self.prices.pricing
        self.streams = StreamExchange(broker, now, parameters, topology, self.members, self.prices)
        self.outbound, self.inbound = self.streams.outbound, self.streams.inbound
        self.senders = Senders(parameters, law, self.groups, self.pricing, self.outbound)
        self._requests = requests = ClientRequests(
            broker,
            parameters,
            self.groups,
            self.members,
            self.senders,
            self.streams,
            self.prices,
        )
        self._on: dict[type[Message], OnMessage] = {
            Multicast: self._multicast,
            MulticastReceived: self._confirmed,
            Prices: self._prices_told,
            Membership: self._membership,
            MembershipChange: self._membership_change,
            MembershipTold: self._membership_told,
            MembershipWanted: self._membership_wanted,
            SendToGroups: self._send_to_groups,
            GroupTaken: requests.taken,
            OpenGroupSender: requests.open_sender,
            CloseGroupSender: requests.close_sender,
            JoinGroup: requests.join,
            LeaveGroup: requests.leave,
            AskGroups: requests.ask_groups,
        }

    # -- the service contract ---------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Nothing to do before the first link."""
        return []

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Take in other trees: prices, members and streams take other paths."""
        out: list[Effect] = []
        self.prices.routes_changed()
        self.groups.routes_changed(now, out)
        self.outbound.forget_restarted(self.groups, out)
        self.streams.routes_changed(next_hops, now, out)
        self._pump_all(now, out)
        return out

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """Start sending: the trees are known."""
        out: list[Effect] = []
        self._settled = True
        self._pump_all(now, out)
        return out

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """Tell a new neighbour the memberships and the prices above zero."""
        out: list[Effect] = []
        self.groups.link_up(link, out)
        self.prices.link_up(link, now, out)
        return out

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """Forget a neighbour."""
        self.prices.link_down(link)
        self.streams.link_down(link)
        self.groups.link_down(link)
        out: list[Effect] = []
        self._pump_all(now, out)
        return out

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """Handle one of the service's messages."""
        out: list[Effect] = []
        self._on[type(message)](link, message, now, out)
        self._pump_if_settled(now, out)
        return out

    def queues_measured(self, now: Instant) -> list[Effect]:
        """Set prices by what waits on the links now."""
        out: list[Effect] = []
        if self.pricing.may_change() and self.prices.update(now, out):
            self._pump_all(now, out)
        return out

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """Remove a client, with its memberships and senders."""
        out: list[Effect] = []
        self._requests.session_closed(session, now, out)
        self._pump_if_settled(now, out)
        return out

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def deadline(self, now: Instant) -> list[Effect]:
        """Do what is due: prices, departures, confirmations, probes, waiting senders."""
        out: list[Effect] = []
        if self.prices.deadline(now, out):
            self._pump_all(now, out)
        for broker in self.groups.deadline(now, out):
            self.outbound.departed(broker, out)
        self.streams.deadline(now, out)
        out += self.members.close_slow(now)
        for producer in self._deadlines.pop_due(now):
            sender = self.senders.get(producer)
            if sender is not None:
                self._pump(sender, now, out)
        self._pump_if_settled(now, out)
        return out

    def next_deadline(self) -> Instant | None:
        return earliest(
            self.prices.next_deadline(),
            self.groups.next_deadline(),
            self.streams.next_deadline(),
            self.members.next_deadline(),
            self._deadlines.earliest(),
        )

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return service_records(
            self.broker, self.prices, self.senders, self.outbound, self.inbound, now
        )

    def check_invariants(self) -> None:
        self.streams.check_invariants()

    # -- sending ----------------------------------------------------------------------------

    def _send_to_groups(
        self, session: LinkName, message: SendToGroups, now: Instant, out: list[Effect]
    ) -> None:
        sender = self.senders.get(message.producer)
        problem = send_objection(message, self.parameters, self.groups)
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

    def _pump(self, sender: LocalSender, now: Instant, out: list[Effect]) -> None:
        """Send what a sender may send now, and set the time when to ask again."""
        if not self._is_ready:
            return
        while self.outbound.has_room():
            bought = self.senders.next_bought(sender, now)
            if not isinstance(bought, Bought):
                self._deadlines.set(sender.producer, bought)
                return
            self._transmit(bought, now, out)
        # A sender that waits for the window has no deadline: confirmations wake it.
        self._deadlines.set(sender.producer, None)

    @property
    def _is_ready(self) -> bool:
        """Whether members are known; a broker that was just started hears of them first."""
        return self._settled and self.groups.is_informed

    def _transmit(self, bought: Bought, now: Instant, out: list[Effect]) -> None:
        receivers = {each: self.groups.incarnation(each) for each in bought.route.brokers}
        self.streams.transmit(bought, receivers, now, out)

    def _pump_all(self, now: Instant, out: list[Effect]) -> None:
        self.outbound.take_settled()
        for sender in self.senders.waiting():
            self._pump(sender, now, out)

    def _pump_if_settled(self, now: Instant, out: list[Effect]) -> None:
        """Wake the senders that wait for the window, if a message has left it."""
        if self.outbound.take_settled():
            for sender in self.senders.waiting():
                if sender.producer not in self._deadlines:
                    self._pump(sender, now, out)

    # -- messages of other brokers ----------------------------------------------------------

    def _multicast(
        self, link: LinkName, message: Multicast, now: Instant, out: list[Effect]
    ) -> None:
        if message.prices and self.prices.learn(link, message.prices, now, out):
            self._pump_all(now, out)
        self.streams.arrived(link, message, now, out)

    def _confirmed(
        self, link: LinkName, message: MulticastReceived, now: Instant, out: list[Effect]
    ) -> None:
        self.streams.confirmed(message, now, out)

    # -- prices -----------------------------------------------------------------------------

    def _prices_told(
        self, link: LinkName, message: Prices, now: Instant, out: list[Effect]
    ) -> None:
        if self.prices.learn(link, message.records, now, out):
            self._pump_all(now, out)

    # -- membership -------------------------------------------------------------------------

    def _membership(
        self, link: LinkName, message: Membership, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.replaced(link, message, out)
        self._members_changed(out)

    def _membership_change(
        self, link: LinkName, message: MembershipChange, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.changed(link, message, out)
        self._members_changed(out)

    def _members_changed(self, out: list[Effect]) -> None:
        self.prices.senders_changed()
        self.outbound.forget_restarted(self.groups, out)

    def _membership_told(
        self, link: LinkName, message: MembershipTold, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.told(link)
        self._pump_all(now, out)

    def _membership_wanted(
        self, link: LinkName, message: MembershipWanted, now: Instant, out: list[Effect]
    ) -> None:
        self.groups.asked(link, message.broker, out)

    # -- people -----------------------------------------------------------------------------

    def status(self, now: Instant) -> dict[str, Any]:
        """Clients that send to groups, and the size of each group."""
        return self._requests.status()

    def why(self, name: str, asker: Asker, now: Instant) -> list[Effect] | None:
        """Explain what holds a client's senders back."""
        document = self._requests.explained(name, now)
        return None if document is None else [asker.told(document)]

    def known_names(self) -> dict[str, list[str]]:
        """Clients that send to groups."""
        return {"clients that send to groups": self._requests.sending_clients()}

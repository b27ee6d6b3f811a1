"""The senders of this broker's clients, and the messages that wait until they are paid for.

1. A sender's messages wait in order.  The first goes when the account pays for it at the price of
   its tree, and when the window of unconfirmed messages has room.
2. Receipts hold the client back: it may have ``waiting_bytes`` waiting here, and a client that
   sends more without waiting for receipts is refused.
3. A message whose receivers are all at this broker crosses no link and costs nothing.
"""

from __future__ import annotations

from collections import Counter, deque

import msgspec

from penstock.core.clock import Instant
from penstock.core.machine import LinkName
from penstock.services.multicast.groups.groups import GroupDirectory
from penstock.services.multicast.laws.benefit import allowed_weight, worth_of_a_packet
from penstock.services.multicast.laws.law import Account, MulticastLaw
from penstock.services.multicast.messages import SendToGroups
from penstock.services.multicast.parameters import MulticastParameters
from penstock.services.multicast.prices.pricing import Pricing
from penstock.services.multicast.streams.outbound import Outbound
from penstock.services.multicast.streams.stream import HEAD_BYTES, Bought


class WaitingMessage(msgspec.Struct, frozen=True, gc=False):
    """A message that is not paid for yet."""

    request: SendToGroups
    since: Instant
    size_bytes: int


class LocalSender:
    """One sender of one client."""

    __slots__ = (
        "account",
        "groups",
        "producer",
        "sent_packets",
        "session",
        "waiting",
        "waiting_bytes",
    )

    def __init__(self, producer: str, session: LinkName, account: Account) -> None:
        self.producer = producer
        self.session = session
        self.account = account
        self.groups: tuple[str, ...] = ()
        """The groups of the first waiting message, or of the last one sent."""
        self.waiting: deque[WaitingMessage] = deque()
        self.waiting_bytes = 0
        self.sent_packets = 0.0


class Senders:
    """All senders of this broker's clients."""

    def __init__(
        self,
        parameters: MulticastParameters,
        law: MulticastLaw,
        groups: GroupDirectory,
        pricing: Pricing,
        outbound: Outbound,
    ) -> None:
        self._parameters = parameters
        self._law = law
        self._groups = groups
        self._pricing = pricing
        self._outbound = outbound
        self._by_name: dict[str, LocalSender] = {}
        self._of_session: Counter[LinkName] = Counter()

    def __len__(self) -> int:
        return len(self._by_name)

    def get(self, producer: str) -> LocalSender | None:
        return self._by_name.get(producer)

    def open(self, producer: str, session: LinkName, weight: float, now: Instant) -> LocalSender:
        """Add a sender; one whose client has reconnected keeps its account."""
        sender = self._by_name.get(producer)
        if sender is None:
            weight = allowed_weight(weight, self._parameters.highest_weight)
            account = self._law.open_account(weight, now)
            sender = self._by_name[producer] = LocalSender(producer, session, account)
            self._of_session[session] += 1
        elif sender.session != session:
            self._of_session[sender.session] -= 1
            self._of_session[session] += 1
            sender.session = session
            sender.waiting.clear()
            sender.waiting_bytes = 0
        return sender

    def close(self, producer: str, session: LinkName) -> None:
        """Remove a sender of this session, with its waiting messages."""
        sender = self._by_name.get(producer)
        if sender is not None and sender.session == session:
            del self._by_name[producer]

    def session_closed(self, session: LinkName) -> None:
        """Remove a client's senders; it will repeat the messages that wait here."""
        for sender in [each for each in self._by_name.values() if each.session == session]:
            del self._by_name[sender.producer]
        self._of_session.pop(session, None)

    def count_of_session(self, session: LinkName) -> int:
        return self._of_session[session]

    def add(self, sender: LocalSender, request: SendToGroups, now: Instant) -> str:
        """Queue a message; returns why if it is refused."""
        size_bytes = request.batch.wire_size + HEAD_BYTES
        limit = self._parameters.waiting_bytes
        if sender.waiting and sender.waiting_bytes + size_bytes > limit:
            return (
                f"{sender.waiting_bytes} bytes of {sender.producer!r} wait to be sent; at most "
                f"{limit} may (multicast.waiting_bytes): wait for receipts"
            )
        sender.waiting.append(WaitingMessage(request, now, size_bytes))
        sender.waiting_bytes += size_bytes
        return ""

    def next_bought(self, sender: LocalSender, now: Instant) -> Bought | Instant | None:
        """The sender's next message if it may go now; otherwise when to ask again.

        None if no message waits.
        """
        if not sender.waiting:
            return None
        first = sender.waiting[0]
        sender.groups = first.request.groups
        route = self._groups.route(first.request.groups)
        paid = 0.0
        named: tuple[int, ...] = ()
        if route.links:
            price, named = self._pricing.total(link.number for link in route.links)
            packets = first.size_bytes / self._parameters.packet_bytes
            round_trip_ns = self._outbound.round_trip_ns(route.brokers)
            worth = worth_of_a_packet(self._parameters.benefit_counts, route.receivers)
            bought = sender.account.buy(packets, price / worth, round_trip_ns, now)
            if bought is None:
                return max(sender.account.ask_again_at(), now + 1)
            paid = bought * worth
            sender.sent_packets += packets
        sender.waiting.popleft()
        sender.waiting_bytes -= first.size_bytes
        return Bought(
            first.request,
            sender.session,
            first.size_bytes,
            route,
            paid,
            named,
            now - first.since,
        )

    def waiting(self) -> list[LocalSender]:
        """The senders that have a message waiting."""
        return [each for each in self._by_name.values() if each.waiting]

    def of_client(self, client: str) -> list[LocalSender]:
        """The senders of a client: those of its name, or whose name begins with it."""
        return [
            each
            for name, each in self._by_name.items()
            if name == client or name.startswith(client + "/")
        ]

    def clients(self) -> set[str]:
        """The names of the clients that send."""
        return {name.rpartition("/")[0] or name for name in self._by_name}

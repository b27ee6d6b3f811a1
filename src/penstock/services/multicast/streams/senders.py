"""The clients of this broker that send to groups: what waits, and what it waits for.

1. A sender's messages wait in order.  The first goes when its account pays for it at the price of
   its tree, and when the window of what is under way has room.
2. The client is held back by its receipts: it may have ``waiting_bytes`` waiting here, and a client
   that sends more without waiting for receipts is refused.
3. A message whose receivers are all at this broker crosses no link and costs nothing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from random import Random
from typing import Final

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.machine import LinkName
from penstock.services.multicast.groups.route import Route
from penstock.services.multicast.laws.account import Account, open_account
from penstock.services.multicast.messages import SendToGroups
from penstock.services.multicast.parameters import MulticastParameters

HEAD_BYTES: Final = 160
"""What a message takes on a link beside its rows: envelope, names, three receivers."""


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A message that was not bought yet."""

    request: SendToGroups
    since: Instant
    size_bytes: int


class GroupSender:
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
        """Nothing waits."""
        self.producer = producer
        self.session = session
        self.account = account
        self.groups: tuple[str, ...] = ()
        """Where its last message went, or its first that waits goes."""
        self.waiting: deque[Waiting] = deque()
        self.waiting_bytes = 0
        self.sent_packets = 0.0


class Bought(msgspec.Struct, frozen=True, gc=False):
    """A message that may go now."""

    request: SendToGroups
    session: LinkName
    size_bytes: int
    route: Route
    paid: float
    named: tuple[int, int]
    waited_ns: Duration


RouteOf = Callable[[tuple[str, ...]], Route]
PriceOf = Callable[[Route], tuple[float, tuple[int, int]]]
RoundTripOf = Callable[[Route], Duration]


class Senders:
    """All of them."""

    def __init__(
        self,
        parameters: MulticastParameters,
        random: Random,
        *,
        route_of: RouteOf,
        price_of: PriceOf,
        round_trip_of: RoundTripOf,
    ) -> None:
        """Nobody sends."""
        self._parameters = parameters
        self._random = random
        self._route_of = route_of
        self._price_of = price_of
        self._round_trip_of = round_trip_of
        self._by_name: dict[str, GroupSender] = {}
        self._of_session: Counter[LinkName] = Counter()

    def __len__(self) -> int:
        """How many."""
        return len(self._by_name)

    def get(self, producer: str) -> GroupSender | None:
        """One of them."""
        return self._by_name.get(producer)

    def open(self, producer: str, session: LinkName, weight: float, now: Instant) -> GroupSender:
        """A client may send under this name; one that comes back keeps its account."""
        sender = self._by_name.get(producer)
        if sender is None:
            account = open_account(self._parameters, weight, self._random, now)
            sender = self._by_name[producer] = GroupSender(producer, session, account)
            self._of_session[session] += 1
        elif sender.session != session:
            self._of_session[sender.session] -= 1
            self._of_session[session] += 1
            sender.session = session
            sender.waiting.clear()
            sender.waiting_bytes = 0
        return sender

    def close(self, producer: str, session: LinkName) -> None:
        """A sender of this connection sends no more."""
        sender = self._by_name.get(producer)
        if sender is not None and sender.session == session:
            del self._by_name[producer]

    def session_closed(self, session: LinkName) -> None:
        """What was not bought goes with its client, who will send it again."""
        for sender in [each for each in self._by_name.values() if each.session == session]:
            del self._by_name[sender.producer]
        self._of_session.pop(session, None)

    def count_of_session(self, session: LinkName) -> int:
        """How many one client has."""
        return self._of_session[session]

    def add(self, sender: GroupSender, request: SendToGroups, now: Instant) -> str:
        """A message waits from now on; or why it may not."""
        size_bytes = request.batch.wire_size + HEAD_BYTES
        limit = self._parameters.waiting_bytes
        if sender.waiting and sender.waiting_bytes + size_bytes > limit:
            return (
                f"{sender.waiting_bytes} bytes of {sender.producer!r} wait to be sent; at most "
                f"{limit} may (multicast.waiting_bytes): wait for receipts"
            )
        sender.waiting.append(Waiting(request, now, size_bytes))
        sender.waiting_bytes += size_bytes
        return ""

    def next_bought(self, sender: GroupSender, now: Instant) -> Bought | Instant | None:
        """The sender's next message if it may go now; otherwise when to ask again, if ever."""
        if not sender.waiting:
            return None
        first = sender.waiting[0]
        sender.groups = first.request.groups
        route = self._route_of(first.request.groups)
        paid, named = 0.0, (0, 0)
        if route.links:
            price, named = self._price_of(route)
            packets = first.size_bytes / self._parameters.packet_bytes
            bought = sender.account.buy(packets, price, self._round_trip_of(route), now)
            if bought is None:
                return max(sender.account.ask_again_at(), now + 1)
            paid = bought
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

    def waiting(self) -> list[GroupSender]:
        """Everybody who has a message waiting."""
        return [each for each in self._by_name.values() if each.waiting]

    def of_client(self, client: str) -> list[GroupSender]:
        """The senders of a client: those of its name, or whose name begins with it."""
        return [
            each
            for name, each in self._by_name.items()
            if name == client or name.startswith(client + "/")
        ]

    def clients(self) -> set[str]:
        """The names of the clients that send."""
        return {name.rpartition("/")[0] or name for name in self._by_name}

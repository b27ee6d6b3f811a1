"""A client of the datagram service: both halves of the control, and the talk with the broker.

1. When the connection is there, the client opens the service under its name; the broker's answer
   gives it its address, with which the control begins.
2. Subscriptions are kept and made again on every new connection; publications are not: what waited
   when the connection broke is given up, as best effort allows.
3. Publications, reports and echoes go and come as datagrams, everything else on the connection.

The same object runs in the simulator and in the client library.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.core.clock import NEVER, Instant, earliest
from penstock.core.datagrams import ReceivedTogether, SendBestEffort
from penstock.core.machine import (
    DeadlineReached,
    Effect,
    Fact,
    LinkDown,
    LinkName,
    LinkUp,
    Priority,
    Received,
    Send,
)
from penstock.core.message import Message
from penstock.services.datagram.messages import (
    Attribute,
    DatagramOpened,
    DatagramsSubscribed,
    DatagramWhyAnswer,
    DatagramWhyQuestion,
    EchoReply,
    EchoRequest,
    Feedback,
    OpenDatagram,
    Publication,
    SubscribeDatagrams,
    UnsubscribeDatagrams,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.publisher.control import PublisherControl
from penstock.services.datagram.selectors import ReadSelector, read_selector
from penstock.services.datagram.subscriber.control import SubscriberControl
from penstock.services.datagram.why import explain

BROKER: LinkName = "broker"
"""What a client calls the one link that it has."""


class NotOpen(Exception):
    """There is no connection, or the broker has not answered yet."""


class PeerOpened(Effect, frozen=True, gc=False):
    """The client can publish under this address; or the broker says why not."""

    address: str
    problem: str = ""


class PeerSubscribed(Effect, frozen=True, gc=False):
    """A subscription is in force; or the broker says why not."""

    filter_id: int
    problem: str = ""


class DeliverPublication(Effect, frozen=True, gc=False):
    """A message for the application, and the filters that it matches."""

    publication: Publication
    filter_ids: tuple[int, ...]


class DeliverTogether(Effect, frozen=True, gc=False):
    """Messages for the application that came at once, and the filters that each matches, if any."""

    publications: Sequence[Publication]
    filter_ids: Sequence[tuple[int, ...]]


class PublicationSettled(Effect, frozen=True, gc=False):
    """A message that waited has gone, or was given up."""

    token: int
    sent: bool


class _Subscription(msgspec.Struct, frozen=True):
    read: ReadSelector
    priority: float


class DatagramPeer:
    """One client."""

    def __init__(self, name: str, parameters: DatagramParameters, *, publishes: bool) -> None:
        """Not connected."""
        self.name = name
        self.parameters = parameters
        self.publishing: PublisherControl | None = None
        self.subscribing: SubscriberControl | None = None
        self._publishes = publishes
        self._filters: dict[int, _Subscription] = {}

    # -- the application --------------------------------------------------------------------

    def subscribe(self, filter_id: int, selector: str, priority: float = 1.0) -> list[Effect]:
        """Ask for messages; raises ``SelectorError``, or ``ValueError`` for the priority."""
        if not 0 < priority < float("inf"):
            raise ValueError(f"priority={priority!r}: it is a positive number")
        read = read_selector(selector)
        self._filters[filter_id] = _Subscription(read, priority)
        return self._ask_for(filter_id)

    def unsubscribe(self, filter_id: int) -> list[Effect]:
        """Ask no more."""
        if self._filters.pop(filter_id, None) is None or self.subscribing is None:
            return []
        self.subscribing.remove_filter(filter_id)
        return [Send(BROKER, UnsubscribeDatagrams(filter_id), Priority.CONTROL)]

    def publish(
        self,
        token: int,
        attributes: dict[str, Attribute],
        payload: bytes,
        *,
        now: Instant,
        expires_at: Instant = NEVER,
    ) -> list[Effect]:
        """Send a message, at once or when its flows allow it; nothing is returned if it waits.

        Raises ``TooLarge``, ``QueueFull`` and ``NotOpen``.
        """
        if self.publishing is None or not self._publishes:
            raise NotOpen(f"datagram client {self.name!r} is not open for publishing")
        sent = self.publishing.offer(token, attributes, payload, now, expires_at)
        return [] if sent is None else [SendBestEffort(BROKER, sent)]

    # -- the world --------------------------------------------------------------------------

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take one fact in and give the orders that follow from it."""
        if type(fact) is ReceivedTogether:
            return self._received_together(fact.messages, now)
        match fact:
            case Received(message=message):
                return self._received(message, now)
            case DeadlineReached():
                return self._due(now)
            case LinkUp():
                opening = OpenDatagram(self.name, self._publishes)
                return [Send(BROKER, opening, Priority.CONTROL)]
            case LinkDown():
                return self._disconnected()
        return []

    def _received(self, message: Message, now: Instant) -> list[Effect]:
        if type(message) is Publication:
            return self._publications((message,), now)
        if isinstance(message, DatagramOpened):
            return self._opened(message, now)
        if self.publishing is None or self.subscribing is None:
            return []
        match message:
            case Feedback():
                if message.to == self.publishing.address:
                    self.publishing.feedback(message, now)
                    return self._due(now)
            case EchoRequest():
                if message.to == self.publishing.address and self._publishes:
                    return [SendBestEffort(BROKER, self.publishing.echo(message, now))]
            case EchoReply():
                self.subscribing.echoed(message, now)
            case DatagramsSubscribed(filter_id, problem):
                return [PeerSubscribed(filter_id, problem)]
            case DatagramWhyQuestion(token):
                document = msgspec.json.encode(explain(self.publishing, now))
                return [Send(BROKER, DatagramWhyAnswer(token, document), Priority.CONTROL)]
        return []

    def _received_together(self, messages: Sequence[Message], now: Instant) -> list[Effect]:
        publications = [each for each in messages if type(each) is Publication]
        out = self._publications(publications, now)
        if len(publications) < len(messages):
            # Reports and echoes may overtake publications, here as everywhere.
            for each in messages:
                if type(each) is not Publication:
                    out += self._received(each, now)
        return out

    def _publications(self, publications: Sequence[Publication], now: Instant) -> list[Effect]:
        if self.subscribing is None:
            return []
        matched = self.subscribing.received(publications, now)
        if len(publications) > 1:
            return [DeliverTogether(publications, matched)]
        return [
            DeliverPublication(publication, filter_ids)
            for publication, filter_ids in zip(publications, matched, strict=True)
            if filter_ids
        ]

    def _opened(self, message: DatagramOpened, now: Instant) -> list[Effect]:
        if message.problem:
            return [PeerOpened("", message.problem)]
        self.publishing = PublisherControl(message.address, self.parameters, now=now)
        self.subscribing = SubscriberControl(message.address, self.parameters)
        out: list[Effect] = [PeerOpened(message.address)]
        for filter_id in self._filters:
            out += self._ask_for(filter_id)
        return out

    def _ask_for(self, filter_id: int) -> list[Effect]:
        if self.subscribing is None:
            return []
        subscription = self._filters[filter_id]
        selector = subscription.read.selector
        self.subscribing.add_filter(filter_id, selector, subscription.priority)
        return [Send(BROKER, SubscribeDatagrams(filter_id, selector.text), Priority.CONTROL)]

    def _disconnected(self) -> list[Effect]:
        waiting = self.publishing.give_up_waiting() if self.publishing is not None else []
        self.publishing = None
        self.subscribing = None
        return [PublicationSettled(token, sent=False) for token in waiting]

    def _due(self, now: Instant) -> list[Effect]:
        if self.publishing is None or self.subscribing is None:
            return []
        out: list[Effect] = []
        for outcome in self.publishing.due(now):
            if outcome.publication is not None:
                out.append(SendBestEffort(BROKER, outcome.publication))
            out.append(PublicationSettled(outcome.token, outcome.publication is not None))
        out += [SendBestEffort(BROKER, message) for message in self.subscribing.due(now)]
        return out

    def next_deadline(self) -> Instant | None:
        """The earliest thing that time alone brings about."""
        if self.publishing is None or self.subscribing is None:
            return None
        return earliest(self.publishing.next_deadline(), self.subscribing.next_deadline())

    def check_invariants(self) -> None:
        """Both halves are in a possible state."""
        if self.publishing is not None:
            self.publishing.check_invariants()

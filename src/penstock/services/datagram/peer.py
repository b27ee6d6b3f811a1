"""A client of the datagram service: both halves of the control, and the dialogue with its broker.

1. When the connection is up, the client opens the service under its name.  The broker's answer
   gives the client its address, and the control begins.
2. Subscriptions are kept and repeated on every new connection.  Publications are not: those that
   wait when the connection breaks are given up, because the service is best effort.
3. Publications, reports and echoes travel as datagrams, everything else on the connection.

The same object runs in the simulator and in the client library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
    ToApplication,
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
from penstock.services.datagram.publisher.control import PublishingControl
from penstock.services.datagram.selectors import ReadSelector, read_selector
from penstock.services.datagram.subscriber.control import SubscribingControl
from penstock.services.datagram.why import explain

BROKER: LinkName = "broker"
"""The name of a client's only link."""

OnFact = Callable[[Any, Instant], list[Effect]]
OnMessage = Callable[[Any, Instant], list[Effect]]


class NotOpen(Exception):
    """The client is not connected, or the broker has not answered yet."""


class PeerOpened(ToApplication, frozen=True, gc=False):
    """The client may publish under this address; or ``problem`` says why not."""

    address: str
    problem: str = ""


class PeerSubscribed(ToApplication, frozen=True, gc=False):
    """A subscription is in force; or ``problem`` says why not."""

    filter_id: int
    problem: str = ""


class DeliverPublication(ToApplication, frozen=True, gc=False):
    """A message for the application, and the filters that it matches."""

    publication: Publication
    filter_ids: tuple[int, ...]


class DeliverTogether(ToApplication, frozen=True, gc=False):
    """Messages that arrived together, and the filters that each matches, if any."""

    publications: Sequence[Publication]
    filter_ids: Sequence[tuple[int, ...]]


class PublicationSettled(ToApplication, frozen=True, gc=False):
    """A message that waited was sent, or was given up."""

    token: int
    sent: bool


class _Subscription(msgspec.Struct, frozen=True):
    read: ReadSelector
    priority: float


class DatagramPeer:
    """One client."""

    def __init__(self, name: str, parameters: DatagramParameters, *, publishes: bool) -> None:
        self.name = name
        self.parameters = parameters
        self.publishing: PublishingControl | None = None
        self.subscribing: SubscribingControl | None = None
        self._publishes = publishes
        self._filters: dict[int, _Subscription] = {}
        self._on_fact: dict[type[Fact], OnFact] = {
            ReceivedTogether: self._received_together,
            Received: self._received,
            DeadlineReached: self._deadline,
            LinkUp: self._link_up,
            LinkDown: self._link_down,
        }
        self._on_message: dict[type[Message], OnMessage] = {
            Publication: self._publication,
            DatagramOpened: self._opened,
            Feedback: self._feedback,
            EchoRequest: self._echo_asked,
            EchoReply: self._echo_answered,
            DatagramsSubscribed: self._subscribed,
            DatagramWhyQuestion: self._why_asked,
        }

    # -- the application --------------------------------------------------------------------

    def subscribe(self, filter_id: int, selector: str, priority: float = 1.0) -> list[Effect]:
        """Subscribe; raises ``SelectorError``, or ``ValueError`` for the priority."""
        if not 0 < priority < float("inf"):
            raise ValueError(f"priority={priority!r}: a priority is a positive number")
        read = read_selector(selector)
        self._filters[filter_id] = _Subscription(read, priority)
        return self._ask_for(filter_id)

    def unsubscribe(self, filter_id: int) -> list[Effect]:
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
        """Send a message now, or when its flows allow it; no effects are returned if it waits.

        Raises ``TooLarge``, ``QueueFull`` and ``NotOpen``.
        """
        if self.publishing is None or not self._publishes:
            raise NotOpen(f"datagram client {self.name!r} is not open for publishing")
        sent = self.publishing.offer(token, attributes, payload, now, expires_at)
        return [] if sent is None else [SendBestEffort(BROKER, sent)]

    # -- the machine contract ---------------------------------------------------------------

    def handle(self, fact: Fact, *, now: Instant) -> list[Effect]:
        """Take in one fact and return the effects that follow from it."""
        on_fact = self._on_fact.get(type(fact))
        return [] if on_fact is None else on_fact(fact, now)

    def _link_up(self, fact: LinkUp, now: Instant) -> list[Effect]:
        return [Send(BROKER, OpenDatagram(self.name, self._publishes), Priority.CONTROL)]

    def _received(self, fact: Received, now: Instant) -> list[Effect]:
        return self._message(fact.message, now)

    def _message(self, message: Message, now: Instant) -> list[Effect]:
        on_message = self._on_message.get(type(message))
        return [] if on_message is None else on_message(message, now)

    def _publication(self, message: Publication, now: Instant) -> list[Effect]:
        return self._publications((message,), now)

    def _feedback(self, message: Feedback, now: Instant) -> list[Effect]:
        if self.publishing is None or message.to != self.publishing.address:
            return []
        self.publishing.feedback(message, now)
        return self._due(now)

    def _echo_asked(self, message: EchoRequest, now: Instant) -> list[Effect]:
        if self.publishing is None or not self._publishes:
            return []
        if message.to != self.publishing.address:
            return []
        return [SendBestEffort(BROKER, self.publishing.echo(message, now))]

    def _echo_answered(self, message: EchoReply, now: Instant) -> list[Effect]:
        if self.subscribing is not None:
            self.subscribing.echoed(message, now)
        return []

    def _subscribed(self, message: DatagramsSubscribed, now: Instant) -> list[Effect]:
        if self.subscribing is None:
            return []
        return [PeerSubscribed(message.filter_id, message.problem)]

    def _why_asked(self, message: DatagramWhyQuestion, now: Instant) -> list[Effect]:
        if self.publishing is None:
            return []
        document = msgspec.json.encode(explain(self.publishing, now))
        return [Send(BROKER, DatagramWhyAnswer(message.token, document), Priority.CONTROL)]

    def _received_together(self, fact: ReceivedTogether, now: Instant) -> list[Effect]:
        messages = fact.messages
        publications = [each for each in messages if type(each) is Publication]
        out = self._publications(publications, now)
        if len(publications) < len(messages):
            # Reports and echoes may overtake publications.
            for each in messages:
                if type(each) is not Publication:
                    out += self._message(each, now)
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
        self.publishing = PublishingControl(message.address, self.parameters, now=now)
        self.subscribing = SubscribingControl(message.address, self.parameters)
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

    def _link_down(self, fact: LinkDown, now: Instant) -> list[Effect]:
        waiting = self.publishing.give_up_waiting() if self.publishing is not None else []
        self.publishing = None
        self.subscribing = None
        return [PublicationSettled(token, sent=False) for token in waiting]

    def _deadline(self, fact: DeadlineReached, now: Instant) -> list[Effect]:
        return self._due(now)

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
        if self.publishing is None or self.subscribing is None:
            return None
        return earliest(self.publishing.next_deadline(), self.subscribing.next_deadline())

    def check_invariants(self) -> None:
        if self.publishing is not None:
            self.publishing.check_invariants()

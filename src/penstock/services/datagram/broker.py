"""The datagram service at one broker, which only forwards (Section I).

1. A client opens the service under a name and is addressed as ``name@broker``.
2. A broker with publishers announces itself as a source; the announcement is flooded.  Interest in
   a source is registered hop by hop towards it (``forwarding.interests``), over the links'
   connections.
3. A publication is accepted from the publisher's own session, or from the neighbour on this
   broker's path to the source, so it cannot loop; it goes to every link and session that wants it.
4. Reports and echoes go to one client, on the shortest path to its broker.
5. A client's requests are checked at its own broker (``admission``).  Brokers trust each other.

Everything but registration is best effort; no message is stored, repeated or acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from penstock.content.matching.covering_table import CoveringChange
from penstock.content.selectors.error import SelectorError
from penstock.core.clock import Instant
from penstock.core.datagrams import SendBestEffort, SendTogether
from penstock.core.machine import Effect, LinkName, LogRead, PersistFailed, Priority, Send
from penstock.core.message import Message
from penstock.core.service import Service
from penstock.core.trace import TraceRecord
from penstock.core.trees import Tree
from penstock.core.why import Asker
from penstock.services.datagram.admission import (
    open_objection,
    own_requests,
    subscribe_objection,
)
from penstock.services.datagram.forwarding.clients import Clients
from penstock.services.datagram.forwarding.interests import SourceInterests
from penstock.services.datagram.messages import (
    CloseDatagram,
    DatagramOpened,
    DatagramsSubscribed,
    DatagramWhyAnswer,
    EchoReply,
    EchoRequest,
    Feedback,
    Interest,
    OpenDatagram,
    Publication,
    SourceAnnouncement,
    SubscribeDatagrams,
    Unicast,
    UnsubscribeDatagrams,
    broker_of,
)
from penstock.services.datagram.questions import OpenQuestions
from penstock.services.datagram.selectors import read_selector
from penstock.services.datagram.telemetry import broker_records

MAX_SOURCES: Final = 4096
"""Brokers with publishers that one broker remembers: more than an overlay has brokers."""

OnMessage = Callable[[LinkName, Any, Instant], list[Effect]]


class Source(msgspec.Struct, frozen=True):
    """The latest announcement of a broker."""

    incarnation: int
    version: int
    has_publishers: bool


class DatagramBroker(Service):
    """The service at one broker."""

    def __init__(self, name: str, *, now: Instant) -> None:
        """``now`` is the broker's incarnation."""
        self.name = name
        self.forwarded_messages = 0
        self.refused_messages = 0
        self._incarnation = now
        self._links: dict[LinkName, None] = {}
        self._next_hops: Mapping[str, LinkName] = {}
        self._clients = Clients(name)
        self._announced: dict[str, Source] = {}
        self._interests: dict[str, SourceInterests] = {name: SourceInterests(name)}
        self._questions = OpenQuestions()
        self._on: dict[type[Message], OnMessage] = {
            Publication: self._publication,
            Feedback: self._feedback,
            EchoRequest: self._unicast,
            EchoReply: self._unicast,
            OpenDatagram: self._open,
            CloseDatagram: self._close,
            SubscribeDatagrams: self._subscribe,
            UnsubscribeDatagrams: self._unsubscribe,
            SourceAnnouncement: self._announcement,
            Interest: self._interest,
            DatagramWhyAnswer: self._why_answered,
        }

    # -- the overlay ------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Nothing to do before the first link or client."""
        return []

    def routes_changed(
        self, trees: Mapping[str, Tree], next_hops: Mapping[str, LinkName], now: Instant
    ) -> list[Effect]:
        """Register interests again where the path to a source has changed."""
        self._next_hops = dict(next_hops)
        out: list[Effect] = []
        for interests in self._interests.values():
            out += self._reroute(interests)
        return out

    def _reroute(self, interests: SourceInterests) -> list[Effect]:
        before = interests.upstream
        upstream = self._next_hops.get(interests.source)
        if upstream == before:
            return []
        interests.upstream = upstream
        out: list[Effect] = []
        if before in self._links:
            out.append(_tell(before, Interest(interests.source, (), (), anew=True)))
        if upstream in self._links:
            wanted = interests.advertised
            out.append(_tell(upstream, Interest(interests.source, wanted, (), anew=True)))
        return out

    def overlay_settled(self, now: Instant) -> list[Effect]:
        """Nothing waits for the overlay here."""
        return []

    def link_up(self, link: LinkName, now: Instant) -> list[Effect]:
        """Tell a neighbour which sources are known; ``routes_changed`` follows."""
        self._links[link] = None
        return [
            _tell(
                link, SourceAnnouncement(name, each.incarnation, each.version, each.has_publishers)
            )
            for name, each in self._announced.items()
        ]

    def link_down(self, link: LinkName, now: Instant) -> list[Effect]:
        """Forget the interests behind a link."""
        self._links.pop(link, None)
        out: list[Effect] = []
        for interests in self._interests.values():
            if interests.upstream == link:
                interests.upstream = None
            for text in interests.selectors_of(link):
                out += self._advertise(interests, interests.remove(link, text))
        return out

    # -- messages ---------------------------------------------------------------------------

    def received(self, link: LinkName, message: Message, now: Instant) -> list[Effect]:
        """Handle a message of a neighbour or a client; refuse one that brokers do not take."""
        on_message = self._on.get(type(message))
        return self._refuse() if on_message is None else on_message(link, message, now)

    def received_together(
        self, link: LinkName, messages: Sequence[Message], now: Instant
    ) -> list[Effect]:
        """Handle messages of a neighbour or a client that arrived together."""
        publications = [each for each in messages if type(each) is Publication]
        out = self._publications(link, publications)
        if len(publications) < len(messages):
            # Reports and echoes may overtake publications.
            for each in messages:
                if type(each) is not Publication:
                    out += self.received(link, each, now)
        return out

    def _refuse(self) -> list[Effect]:
        self.refused_messages += 1
        return []

    # -- datagrams --------------------------------------------------------------------------

    def _publication(self, link: LinkName, message: Publication, now: Instant) -> list[Effect]:
        return self._publications(link, (message,))

    def _publications(self, link: LinkName, publications: Sequence[Publication]) -> list[Effect]:
        client = self._clients.of_session(link)
        interests = self._interests.get(self.name)
        going: dict[LinkName, list[Publication]] = {}
        for publication in publications:
            if client is None:
                interests = self._interests.get(broker_of(publication.source))
                accepted = interests is not None and interests.upstream == link
            else:
                accepted = client.publishes and publication.source == client.address
            if not accepted:
                self.refused_messages += 1
                continue
            wanting = self._clients.sessions_wanting(publication.attributes)
            links = () if interests is None else interests.links_wanting(publication.attributes)
            if links:
                wanting = (*(each for each in links if each != link), *wanting)
            self.forwarded_messages += len(wanting)
            for each in wanting:
                if each in going:
                    going[each].append(publication)
                else:
                    going[each] = [publication]
        return [
            SendTogether(to, some) if len(some) > 1 else SendBestEffort(to, some[0])
            for to, some in going.items()
        ]

    def _feedback(self, link: LinkName, message: Feedback, now: Instant) -> list[Effect]:
        client = self._clients.of_session(link)
        if client is not None and message.sender == client.address:
            own = own_requests(message, client)
            if own is not message:
                self.refused_messages += 1
            message = own
        return self._unicast(link, message, now)

    def _unicast(self, link: LinkName, message: Unicast, now: Instant) -> list[Effect]:
        client = self._clients.of_session(link)
        if client is None and link not in self._links:
            return self._refuse()
        if client is not None and message.sender != client.address:
            return self._refuse()
        name, _, broker = message.to.rpartition("@")
        if broker == self.name:
            addressee = self._clients.named(name)
            return [] if addressee is None else [SendBestEffort(addressee.session, message)]
        hop = self._next_hops.get(broker)
        return [] if hop is None or hop == link else [SendBestEffort(hop, message)]

    # -- clients ----------------------------------------------------------------------------

    def _open(self, session: LinkName, message: OpenDatagram, now: Instant) -> list[Effect]:
        name = message.name
        problem = open_objection(self._clients, session, name)
        if problem:
            return [Send(session, DatagramOpened(name, "", problem))]
        client = self._clients.open(session, name, message.publishes)
        return [Send(session, DatagramOpened(name, client.address)), *self._announce_if_changed()]

    def _subscribe(
        self, session: LinkName, message: SubscribeDatagrams, now: Instant
    ) -> list[Effect]:
        filter_id = message.filter_id
        client = self._clients.of_session(session)
        problem = subscribe_objection(client, filter_id, message.selector)
        if problem or client is None:
            return [Send(session, DatagramsSubscribed(filter_id, problem))]
        selector = self._clients.subscribe(client, filter_id, message.selector)
        out: list[Effect] = [Send(session, DatagramsSubscribed(filter_id))]
        for interests in self._remote_interests():
            out += self._advertise(interests, interests.add_local(selector))
        return out

    def _unsubscribe(
        self, session: LinkName, message: UnsubscribeDatagrams, now: Instant
    ) -> list[Effect]:
        return self._remove_filter(session, message.filter_id)

    def _remove_filter(self, session: LinkName, filter_id: int) -> list[Effect]:
        selector = self._clients.unsubscribe(session, filter_id)
        out: list[Effect] = []
        if selector is not None:
            for interests in self._remote_interests():
                out += self._advertise(interests, interests.remove_local(selector))
        return out

    def _close(self, session: LinkName, message: CloseDatagram, now: Instant) -> list[Effect]:
        return self.session_closed(session, now)

    def session_closed(self, session: LinkName, now: Instant) -> list[Effect]:
        """Forget a client and its subscriptions."""
        out = self._questions.session_closed(session)
        client = self._clients.of_session(session)
        if client is None:
            return out
        for filter_id in list(client.filters):
            out += self._remove_filter(session, filter_id)
        self._clients.leave(client)
        return [*out, *self._announce_if_changed()]

    def why(self, name: str, asker: Asker, now: Instant) -> list[Effect] | None:
        """Ask the publisher, which alone knows what slows its flows down."""
        client = self._clients.named(name.removesuffix(f"@{self.name}"))
        return None if client is None else self._questions.ask(asker, client.session)

    def _why_answered(
        self, session: LinkName, message: DatagramWhyAnswer, now: Instant
    ) -> list[Effect]:
        return self._questions.answer(session, message)

    # -- sources and interests --------------------------------------------------------------

    def _remote_interests(self) -> Iterable[SourceInterests]:
        return [each for name, each in self._interests.items() if name != self.name]

    def _announce_if_changed(self) -> list[Effect]:
        """Tell the overlay when the first publisher has opened or the last one has closed."""
        has_publishers = self._clients.has_publishers
        last = self._announced.get(self.name)
        if has_publishers == (last is not None and last.has_publishers):
            return []
        version = 1 if last is None else last.version + 1
        self._announced[self.name] = Source(self._incarnation, version, has_publishers)
        message = SourceAnnouncement(self.name, self._incarnation, version, has_publishers)
        return [_tell(link, message) for link in self._links]

    def _announcement(
        self, link: LinkName, message: SourceAnnouncement, now: Instant
    ) -> list[Effect]:
        if message.broker == self.name or link not in self._links:
            return []
        known = self._announced.get(message.broker)
        if known is None and len(self._announced) >= MAX_SOURCES:
            return self._refuse()
        if known is not None and (known.incarnation, known.version) >= (
            message.incarnation,
            message.version,
        ):
            return []
        self._announced[message.broker] = Source(
            message.incarnation, message.version, message.has_publishers
        )
        out: list[Effect] = [_tell(each, message) for each in self._links if each != link]
        return out + self._source_changed(message.broker, message.has_publishers)

    def _source_changed(self, source: str, has_publishers: bool) -> list[Effect]:
        if not has_publishers:
            self._interests.pop(source, None)
            return []
        if source in self._interests:
            return []
        return self._reroute(self._new_source(source))

    def _new_source(self, source: str) -> SourceInterests:
        interests = self._interests[source] = SourceInterests(source)
        for selector in self._clients.selectors:
            interests.add_local(selector)
        return interests

    def _interest(self, link: LinkName, message: Interest, now: Instant) -> list[Effect]:
        if link not in self._links:
            return self._refuse()
        interests = self._interests.get(message.source)
        if interests is None:
            # The neighbour has heard of the source already; its announcement will arrive here too.
            if len(self._interests) >= MAX_SOURCES:
                return self._refuse()
            interests = self._new_source(message.source)
        out: list[Effect] = []
        wanted = dict.fromkeys(message.wanted)
        unwanted = list(message.unwanted)
        if message.anew:
            unwanted += [text for text in interests.selectors_of(link) if text not in wanted]
        for text in wanted:
            try:
                selector = read_selector(text).selector
            except SelectorError:
                out += self._refuse()
                continue
            out += self._advertise(interests, interests.add(link, selector))
        for text in unwanted:
            out += self._advertise(interests, interests.remove(link, text))
        return [*out, *self._reroute(interests)]

    def _advertise(self, interests: SourceInterests, change: CoveringChange) -> list[Effect]:
        upstream = interests.upstream
        if not change or upstream not in self._links:
            return []
        wanted = tuple(each.text for each in change.advertise)
        unwanted = tuple(each.text for each in change.withdraw)
        return [_tell(upstream, Interest(interests.source, wanted, unwanted))]

    # -- the rest of a service --------------------------------------------------------------

    def resolved(self, token: int, failure: PersistFailed | None, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def log_read(self, fact: LogRead, now: Instant) -> list[Effect]:
        """Nothing is stored."""
        return []

    def deadline(self, now: Instant) -> list[Effect]:
        """The service has no timers at a broker."""
        return []

    def next_deadline(self) -> Instant | None:
        """The service has no timers at a broker."""
        return None

    def records(self, now: Instant) -> Iterable[TraceRecord]:
        """What the service measures of itself."""
        return broker_records(self, now)

    @property
    def client_count(self) -> int:
        """The number of clients that have opened the service."""
        return len(self._clients)

    def check_invariants(self) -> None:
        """Raise ``InvariantBroken`` if the tables of clients and filters disagree."""
        self._clients.check_invariants()

    # -- people -----------------------------------------------------------------------------

    def status(self, now: Instant) -> dict[str, int]:
        """How many messages were forwarded and refused, and how many clients there are."""
        return {
            "clients": len(self._clients),
            "forwarded_messages": self.forwarded_messages,
            "refused_messages": self.refused_messages,
        }

    def known_names(self) -> dict[str, list[str]]:
        """Clients that publish datagrams."""
        return {"datagram clients": self._clients.names()}


def _tell(link: LinkName | None, message: Message) -> Send:
    assert link is not None, "only links that are up are told"
    return Send(link, message, Priority.CONTROL)

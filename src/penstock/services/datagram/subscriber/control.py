"""The subscriber's half of the congestion control: a session for each publisher.

Pure: publications, echoes and time go in; whether a publication is wanted, and the datagrams to
send, come out.  Sessions of publishers that are silent for long are forgotten, and there
are at most ``MAX_SESSIONS``: publications of further publishers are delivered and not controlled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from penstock.content.bloom.encoding import encode_filter
from penstock.content.matching.index import SelectorIndex
from penstock.content.selectors.selector import Selector
from penstock.core.clock import Instant
from penstock.core.message import Message
from penstock.mechanisms.deadlines import Deadlines
from penstock.services.datagram.attribute_cache import AttributeCache
from penstock.services.datagram.laws.choice import chosen_law
from penstock.services.datagram.messages import (
    Attribute,
    ClientAddress,
    EchoReply,
    EchoRequest,
    Feedback,
    FlowRequest,
    Publication,
)
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.selectors import hash_of
from penstock.services.datagram.subscriber.repeats import Repeats
from penstock.services.datagram.subscriber.session import Filter, SubscriberSession

MAX_SESSIONS: Final = 4096
"""Publishers that one subscriber controls at once."""

REPORT_OVERHEAD_BYTES: Final = 200
"""What a report takes beside its requests, at most: the envelope, two addresses and numbers."""

REQUEST_OVERHEAD_BYTES: Final = 32
"""What a request takes beside its selector."""


Matched: TypeAlias = tuple[int, ...]
"""The numbers of the filters that a publication matches."""


def _by_stream(
    wanted: list[tuple[Publication, Matched]],
) -> Iterable[list[tuple[Publication, Matched]]]:
    """Runs of what is numbered together: of one incarnation of one publisher."""
    run: list[tuple[Publication, Matched]] = []
    for pair in wanted:
        publication = pair[0]
        if run and (
            publication.source != run[0][0].source
            or publication.incarnation != run[0][0].incarnation
        ):
            yield run
            run = []
        run.append(pair)
    if run:
        yield run


class SubscribingControl:
    """All sessions of one subscriber."""

    def __init__(self, address: ClientAddress, parameters: DatagramParameters) -> None:
        """No filter, no session."""
        self.address = address
        self.sessions: dict[ClientAddress, SubscriberSession] = {}
        self._parameters = parameters
        self._controls_rates = chosen_law(parameters).controls_rates
        self._filters: dict[int, Filter] = {}
        self._index = SelectorIndex()
        self._matching = AttributeCache(self._match)
        self._repeats = Repeats()
        self._deadlines: Deadlines[ClientAddress] = Deadlines()

    def add_filter(self, filter_id: int, selector: Selector, priority: float = 1.0) -> None:
        """Messages that this selector selects are wanted."""
        self._filters[filter_id] = Filter(
            filter_id, selector, encode_filter(selector), priority, hash_of(selector)
        )
        self._index.add(filter_id, selector)
        self._matching.forget()

    def remove_filter(self, filter_id: int) -> None:
        """They are not wanted any more."""
        if self._filters.pop(filter_id, None) is not None:
            self._index.remove(filter_id)
            self._matching.forget()

    def received(self, publications: Sequence[Publication], now: Instant) -> list[Matched]:
        """Publications came at once; the filters that each matches, none if it is not wanted.

        One that came before is not wanted.
        """
        matching, repeats = self._matching, self._repeats
        matched = [
            filters if (filters := matching.of(each.attributes)) and repeats.is_new(each) else ()
            for each in publications
        ]
        if self._controls_rates:
            wanted = [pair for pair in zip(publications, matched, strict=True) if pair[1]]
            for some in _by_stream(wanted):
                self._measure(some, now)
        return matched

    def _match(self, attributes: dict[str, Attribute]) -> Matched:
        return tuple(self._index.match_row(attributes))

    def _measure(self, some: list[tuple[Publication, Matched]], now: Instant) -> None:
        """Take in what one incarnation of a publisher sent."""
        publication = some[0][0]
        source = publication.source
        session = self.sessions.get(source)
        if session is None or session.incarnation < publication.incarnation:
            if session is None and len(self.sessions) >= MAX_SESSIONS:
                return
            session = SubscriberSession(
                self.address, publication.incarnation, self._parameters, now
            )
            self.sessions[source] = session
        elif session.incarnation > publication.incarnation:
            # Stragglers of the time before the publisher was started anew.
            return
        session.received(some, self._filters, now)
        self._arm(source, session)

    def echoed(self, reply: EchoReply, now: Instant) -> None:
        """The answer to an echo; one that nobody asked for changes nothing."""
        session = self.sessions.get(reply.sender)
        if session is not None:
            session.round_trip.echoed(reply.request_sent_at, reply.sent_at, now)
            self._arm(reply.sender, session)

    def due(self, now: Instant) -> list[Message]:
        """The datagrams to send now."""
        out: list[Message] = []
        for source in self._deadlines.pop_due(now):
            session = self.sessions[source]
            if now >= session.ends_at:
                del self.sessions[source]
                continue
            if session.round_trip.echo_wanted_at() <= now:
                session.round_trip.asked(now)
                out.append(EchoRequest(source, self.address, now))
            decision_at = session.decision_due_at()
            if decision_at is not None and decision_at <= now:
                out += self._reports(source, session, session.decide(self._filters, now), now)
            self._arm(source, session)
        return out

    def next_deadline(self) -> Instant | None:
        """When something is due."""
        return self._deadlines.earliest()

    def _reports(
        self,
        source: ClientAddress,
        session: SubscriberSession,
        requests: tuple[FlowRequest, ...],
        now: Instant,
    ) -> list[Feedback]:
        """The requests as reports, none larger than a datagram."""
        reports: list[list[FlowRequest]] = []
        room = 0
        for request in requests:
            size_bytes = REQUEST_OVERHEAD_BYTES + len(request.selector.encode())
            if size_bytes > room or not reports:
                reports.append([])
                room = self._parameters.datagram_bytes - REPORT_OVERHEAD_BYTES
            reports[-1].append(request)
            room -= size_bytes
        round_trip = session.round_trip.smoothed_ns or 0
        rate = session.loss_event_rate
        return [
            Feedback(source, self.address, now, rate, round_trip, tuple(each), session.decided_by)
            for each in reports
        ]

    def _arm(self, source: ClientAddress, session: SubscriberSession) -> None:
        at = min(session.ends_at, session.round_trip.echo_wanted_at())
        decision_at = session.decision_due_at()
        if decision_at is not None and decision_at < at:
            at = decision_at
        self._deadlines.set(source, at)

"""What a peer accepts: publications of its application, and datagrams and events of other peers.

1. A publication is refused, with the reason, if its attributes are invalid, if it does not fit
   one datagram, or if too many publications wait already.
2. A source that sends more datagrams in a round than an honest peer would is ignored for the rest
   of the round.  Source addresses can be forged, so the number of sources is bounded too.  An
   attacker can make a peer ignore new sources for a round, but cannot make its work or its memory
   grow without bound.
"""

from __future__ import annotations

from penstock.core.datagrams import Address
from penstock.services.gossip.facts import PublishEvent
from penstock.services.gossip.messages import EVENT_ID_BYTES, ORIGIN_BYTES, Event, EventId
from penstock.services.gossip.packing import event_bytes


def publication_objection(
    publication: PublishEvent,
    *,
    room_bytes: int,
    waiting: int,
    most_waiting: int,
    rate_msgs_per_s: float,
) -> str:
    """Why a publication is refused; empty if it is accepted.

    ``room_bytes`` is what a datagram has for one event.
    """
    try:
        size = event_bytes(
            Event(bytes(EVENT_ID_BYTES), publication.payload, publication.attributes)
        )
    except ValueError as error:
        return str(error)
    if size > room_bytes:
        return (
            f"the event takes {size} bytes and a datagram has room for {room_bytes}: publish less "
            "at a time, or raise datagram_bytes at every peer"
        )
    if waiting >= most_waiting:
        return (
            f"{waiting} publications wait already; the group allows this peer "
            f"{rate_msgs_per_s:.3g} a second"
        )
    return ""


class FloodGate:
    """Counts what arrives in the present round, and refuses what exceeds the limits."""

    __slots__ = (
        "_by_origin",
        "_by_source",
        "_events",
        "_origin_limit",
        "_source_limit",
        "_sources",
        "refused_datagrams",
        "refused_events",
    )

    def __init__(self, *, source_limit: int, sources: int, origin_limit: int) -> None:
        """The limits for each round: datagrams of a source, sources, new events of an origin."""
        self._source_limit = source_limit
        self._sources = sources
        self._origin_limit = origin_limit
        self._by_source: dict[Address, int] = {}
        self._by_origin: dict[bytes, int] = {}
        self._events = 0
        self.refused_datagrams = 0
        self.refused_events = 0

    def next_round(self) -> None:
        self._by_source.clear()
        self._by_origin.clear()
        self._events = 0

    def admits_datagram(self, source: Address) -> bool:
        """Whether to read a datagram of this source."""
        count = self._by_source.get(source)
        if count is None:
            if len(self._by_source) >= self._sources:
                self.refused_datagrams += 1
                return False
            count = 0
        if count >= self._source_limit:
            self.refused_datagrams += 1
            return False
        self._by_source[source] = count + 1
        return True

    def admitted(self, events: int) -> None:
        """Count new events that were accepted."""
        self._events += events

    @property
    def counts_origins(self) -> bool:
        """Whether this round has brought enough events for one origin to exceed its limit."""
        return self._events >= self._origin_limit

    def refuse_event(self) -> None:
        """Count an event that was refused for another reason than the limits here."""
        self.refused_events += 1

    def admits_event(self, identifier: EventId) -> bool:
        """Whether to accept a new event of this origin; asked only while ``counts_origins``.

        Counting begins when the round has brought as many events as one origin may send, so an
        origin is stopped at twice its limit at the latest.  The number of origins counted is
        bounded by the number of events in the round's admitted datagrams.
        """
        origin = identifier[:ORIGIN_BYTES]
        count = self._by_origin.get(origin, 0)
        if count >= self._origin_limit:
            self.refused_events += 1
            return False
        self._by_origin[origin] = count + 1
        return True

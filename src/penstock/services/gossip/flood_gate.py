"""How much one peer listens to another in a round.

Whoever sends more than an honest peer would is not heard for the rest of the round.  Sources can
be forged, so their number is bounded too; a forger can make a peer deaf to new sources for a
round, but not make it work or remember without bound.
"""

from __future__ import annotations

from penstock.core.datagrams import Address
from penstock.services.gossip.messages import ORIGIN_BYTES, EventId


class FloodGate:
    """Counts of the present round."""

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
        """Datagrams of one source, sources, and new events of one origin, all for each round."""
        self._source_limit = source_limit
        self._sources = sources
        self._origin_limit = origin_limit
        self._by_source: dict[Address, int] = {}
        self._by_origin: dict[bytes, int] = {}
        self._events = 0
        self.refused_datagrams = 0
        self.refused_events = 0

    def next_round(self) -> None:
        """Everybody is heard again."""
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
        """So many new events were taken in."""
        self._events += events

    @property
    def counts_origins(self) -> bool:
        """Whether so much came in this round that an origin might exceed its limit."""
        return self._events >= self._origin_limit

    def refuse_event(self) -> None:
        """An event was not taken in, for a reason that is not its number."""
        self.refused_events += 1

    def admits_event(self, identifier: EventId) -> bool:
        """Whether to accept a new event of this origin, once origins are counted.

        The count begins when the round has brought as many events as one origin may send, so an
        origin is stopped at twice its limit at the latest.  The origins counted are bounded by
        the events that the round's admitted datagrams hold.
        """
        origin = identifier[:ORIGIN_BYTES]
        count = self._by_origin.get(origin, 0)
        if count >= self._origin_limit:
            self.refused_events += 1
            return False
        self._by_origin[origin] = count + 1
        return True

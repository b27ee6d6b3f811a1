"""Which neighbours get a price: those on the way to brokers with senders that use the link.

1. A broker can use the price of a link from X to Y only if its clients send to groups and, in the
   tree rooted at it, X is the parent of Y.  Which brokers have senders is part of the membership
   that every broker knows.
2. The price travels to such a broker along the path from that broker to X, backwards: each broker
   passes it on to the one before it.  All brokers compute the same trees, so no subscription to
   prices is needed.
3. Prices therefore travel against the direction of the data that they are about, and take no
   capacity from the congested link.
4. The price of a link that is not in the topology yet goes to every neighbour.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from penstock.core.machine import LinkName
from penstock.core.trees import Topology
from penstock.services.multicast.groups.route import link_number, path_to
from penstock.services.multicast.messages import PriceRecord


class SendingBrokers(Protocol):
    """Knows which brokers have senders."""

    def sending_brokers(self) -> Iterable[str]: ...


class PriceSpread:
    """Decides which of a broker's neighbours get a price."""

    def __init__(self, broker: str, topology: Topology, groups: SendingBrokers) -> None:
        """``topology`` and ``groups`` are kept up to date by the broker."""
        self._broker = broker
        self._topology = topology
        self._groups = groups
        self._ends: dict[int, tuple[str, str]] = {}
        self._wanted: dict[int, dict[LinkName, None]] = {}

    def routes_changed(self) -> None:
        """Start again with other trees."""
        self._wanted.clear()
        self._ends = {
            link_number(broker, neighbour): (broker, neighbour)
            for broker, neighbours in self._topology.links().items()
            for neighbour in neighbours
        }

    def senders_changed(self) -> None:
        """Start again with other brokers that have senders."""
        self._wanted.clear()

    def wanted_by(self, neighbour: LinkName, records: list[PriceRecord]) -> list[PriceRecord]:
        """The prices that a neighbour, or a broker behind it, can use."""
        return [
            record
            for record in records
            if record.link not in self._ends or neighbour in self._neighbours_for(record.link)
        ]

    def _neighbours_for(self, number: int) -> dict[LinkName, None]:
        found = self._wanted.get(number)
        if found is None:
            found = self._wanted[number] = {}
            start, end = self._ends[number]
            for root in self._groups.sending_brokers():
                parents = self._topology.parents(root)
                if parents.get(end) == start:
                    path = path_to(root, start, parents)
                    if self._broker in path[1:]:
                        found[path[path.index(self._broker) - 1]] = None
        return found

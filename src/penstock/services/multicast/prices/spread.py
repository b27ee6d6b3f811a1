"""To whom a price is told: the brokers with senders whose trees contain the link, and nobody else.

1. A broker can use the price of a link from X to Y only if its clients send to groups and, in the
   tree that is rooted at it, X is the parent of Y.  Which brokers have senders is part of the
   membership that everybody knows.
2. The price travels to such a broker along the way from it to X, backwards: each broker passes it
   on to the neighbour before it.  All of them compute the same trees, so nobody needs to be told.
3. Prices therefore travel against the direction of the data that they are about, and take nothing
   from the link that is congested.
4. A link that is not known yet may be of use to anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.core.machine import LinkName
from penstock.core.trees import Topology
from penstock.services.multicast.groups.route import link_number, path_to
from penstock.services.multicast.messages import PriceRecord


class PriceSpread:
    """Which of a broker's neighbours a price is for."""

    def __init__(
        self, broker: str, topology: Topology, sending: Callable[[], Iterable[str]]
    ) -> None:
        """``topology`` is kept up to date; ``sending`` are the brokers with senders."""
        self._broker = broker
        self._topology = topology
        self._sending = sending
        self._ends: dict[int, tuple[str, str]] = {}
        self._wanted: dict[int, dict[LinkName, None]] = {}

    def routes_changed(self) -> None:
        """Trees are other than before."""
        self._wanted.clear()
        self._ends = {
            link_number(broker, neighbour): (broker, neighbour)
            for broker, neighbours in self._topology.links().items()
            for neighbour in neighbours
        }

    def senders_changed(self) -> None:
        """Other brokers have senders than before."""
        self._wanted.clear()

    def wanted_by(self, neighbour: LinkName, records: list[PriceRecord]) -> list[PriceRecord]:
        """Those of the prices that a neighbour, or somebody behind it, can use."""
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
            for root in self._sending():
                parents = self._topology.parents(root)
                if parents.get(end) == start:
                    path = path_to(root, start, parents)
                    if self._broker in path[1:]:
                        found[path[path.index(self._broker) - 1]] = None
        return found

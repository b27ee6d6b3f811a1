"""The destinations of one alias queue: which there are, and which of them can take rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.core.clock import Instant
from penstock.core.intervals import Interval
from penstock.services.queues.alias.destination import Destination


class Destinations:
    """Destinations by address (``queue@broker``), in the order in which they were named."""

    def __init__(self, addresses: Iterable[str]) -> None:
        """The configured ones."""
        self._known = {each: Destination(each) for each in addresses}

    def __iter__(self) -> Iterator[Destination]:
        """Those in use, and retired ones with which something is not finished."""
        return iter(list(self._known.values()))

    def __getitem__(self, address: str) -> Destination:
        """One that is known."""
        return self._known[address]

    def find(self, broker: str, queue: str) -> Destination | None:
        """The one that speaks, if it is known."""
        return self._known.get(f"{queue}@{broker}")

    def add(self, address: str) -> Destination:
        """One more, or a retired one again."""
        found = self._known.setdefault(address, Destination(address))
        found.retired = False
        return found

    def known_or_retired(self, address: str) -> Destination:
        """One that is no longer configured is kept only to end what was begun."""
        return self._known.setdefault(address, Destination(address, retired=True))

    def forget_if_done(self, destination: Destination) -> None:
        """A retired one goes when nothing ties the alias queue to it any more."""
        if destination.retired and destination.is_done:
            del self._known[destination.address]

    @property
    def addresses(self) -> list[str]:
        """Those in use."""
        return [each.address for each in self._known.values() if not each.retired]

    @property
    def is_single(self) -> bool:
        """Whether there is nothing to choose."""
        return sum(not each.retired for each in self._known.values()) == 1

    @property
    def reachable(self) -> list[Destination]:
        """Those in use to which there is a way."""
        return [each for each in self._known.values() if each.reachable and not each.retired]

    def takers(self, now: Instant) -> dict[str, Destination]:
        """Those to which rows may be forwarded."""
        alone = self.is_single
        return {
            address: each
            for address, each in self._known.items()
            if each.can_take(now, alone=alone)
        }

    def confirmed(self) -> dict[str, list[Interval]]:
        """What each of them owns and has not said that it knows."""
        return {each.address: list(each.confirmed) for each in self if len(each.confirmed)}

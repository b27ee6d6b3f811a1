"""The destinations of one alias queue, and which of them can take rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval
from penstock.services.queues.alias.destination import AliasDestination

Takers: TypeAlias = Mapping[str, AliasDestination]
"""The destinations that can take rows at one instant, by address."""


class Destinations:
    """Destinations by address (``queue@broker``), in the order in which they were named."""

    def __init__(self, broker: str, addresses: Iterable[str]) -> None:
        """``broker`` is where the alias queue is."""
        self._broker = broker
        self._known = {each: AliasDestination(each) for each in addresses}

    def __iter__(self) -> Iterator[AliasDestination]:
        """Those in use, and retired ones on which rows still depend."""
        return iter(list(self._known.values()))

    def __getitem__(self, address: str) -> AliasDestination:
        return self._known[address]

    def find(self, broker: str, queue: str) -> AliasDestination | None:
        """The destination that sent a message, if it is known."""
        return self._known.get(f"{queue}@{broker}")

    # -- changes ----------------------------------------------------------------------------

    def add(self, address: str) -> None:
        """Add a destination, or use a retired one again."""
        found = self._known.setdefault(address, AliasDestination(address))
        found.retired = False

    def known_or_retired(self, address: str) -> AliasDestination:
        """A destination; one that is not configured any more is kept as retired."""
        return self._known.setdefault(address, AliasDestination(address, retired=True))

    def forget_if_done(self, destination: AliasDestination) -> None:
        """Forget a retired destination when no row depends on it any more."""
        if destination.retired and destination.is_done:
            del self._known[destination.address]

    # -- which there are --------------------------------------------------------------------

    @property
    def addresses(self) -> list[str]:
        """Those in use."""
        return [each.address for each in self._known.values() if not each.retired]

    @property
    def is_single(self) -> bool:
        """Whether only one is in use."""
        return sum(not each.retired for each in self._known.values()) == 1

    @property
    def reachable(self) -> list[AliasDestination]:
        """Those in use that can be reached."""
        return [each for each in self._known.values() if each.reachable and not each.retired]

    def decided(self) -> dict[str, list[Interval]]:
        """The rows of each destination that it owns and has not confirmed."""
        return {each.address: list(each.decided) for each in self if len(each.decided)}

    # -- which can take rows ----------------------------------------------------------------

    def takers(self, now: Instant) -> dict[str, AliasDestination]:
        """Those to which rows may be forwarded."""
        alone = self.is_single
        return {
            address: each
            for address, each in self._known.items()
            if each.can_take(now, alone=alone)
        }

    def are_local(self, takers: Takers) -> bool:
        """Whether there are takers, and all of them are queues of this broker."""
        return bool(takers) and all(each.broker == self._broker for each in takers.values())

    def are_near(self, takers: Takers, limit_ns: Duration) -> bool:
        """Whether there are takers, and all of them are local or store rows within this time."""
        return bool(limit_ns and takers) and all(
            each.broker == self._broker or each.is_within(limit_ns) for each in takers.values()
        )

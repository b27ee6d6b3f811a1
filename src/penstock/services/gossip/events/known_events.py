"""The identifiers of the events received lately, so that each is delivered once (Figure 1)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from penstock.services.gossip.messages import EventId


class KnownEvents:
    """A bounded memory: the longest known is forgotten first."""

    __slots__ = ("_capacity", "_order", "ids")

    def __init__(self, capacity: int) -> None:
        """Nothing is known yet."""
        self._capacity = capacity
        self._order: deque[EventId] = deque()
        self.ids: set[EventId] = set()
        """For membership only; never iterated."""

    def add(self, identifiers: Sequence[EventId]) -> None:
        """Remember new identifiers."""
        self.ids.update(identifiers)
        order = self._order
        order.extend(identifiers)
        while len(order) > self._capacity:
            self.ids.discard(order.popleft())

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._order)

"""Carries what the parts of one broker send to each other.

1. A part sends to another part as to a neighbour: with a ``Send`` on a local link.  Such effects
   never leave the broker.
2. Messages are delivered in the order in which they were sent, after the part that sent them has
   finished.  The effects of a delivery come after all effects of the deliveries before it.
3. It ends when no message is left.  What remains are the effects for the world, in order.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, Send
from penstock.services.guaranteed.dispatch import Handlers


class LocalLink:
    """A link to a part of the same broker: its handlers, and the link that they see as sender."""

    __slots__ = ("handlers", "sender")

    def __init__(self, sender: LinkName, handlers: Handlers) -> None:
        self.sender = sender
        self.handlers = handlers


class LocalExchange:
    """All local links of one broker."""

    __slots__ = ("_links",)

    def __init__(self, links: Mapping[LinkName, LocalLink]) -> None:
        self._links = dict(links)

    def run_until_quiet(self, effects: list[Effect], now: Instant) -> list[Effect]:
        """Deliver local messages round by round; returns the effects for the world."""
        links = self._links
        outside: list[Effect] = []
        while effects:
            following: list[Effect] = []
            for effect in effects:
                if type(effect) is not Send or (local := links.get(effect.link)) is None:
                    outside.append(effect)
                else:
                    message = effect.message
                    local.handlers[type(message)](local.sender, message, now, following)
            effects = following
        return outside

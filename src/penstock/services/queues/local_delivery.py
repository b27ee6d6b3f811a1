"""Carries messages between the queues of one broker, and finds the link for the others.

Queues and alias queues say everything to each other in messages, also on the same broker.  A
message for this broker is handled before the broker returns its effects; the effects of handling
it may hold further messages.  Messages are handled in the order in which they were sent.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Protocol

from penstock.core.clock import Instant
from penstock.core.machine import Effect
from penstock.services.queues.routing import Routes, SendToBroker, SendWithinBroker

BETWEEN_QUEUES: Final = (SendToBroker, SendWithinBroker)


class QueueMessages(Protocol):
    """What handles the messages for the queues of this broker."""

    def deliver(self, message: Any, now: Instant, out: list[Effect]) -> None:
        """Handle a message for a queue or an alias queue of this broker."""
        ...


class LocalDelivery:
    """Turns the effects of queues into effects for the driver."""

    def __init__(self, routes: Routes, receiver: QueueMessages) -> None:
        self._routes = routes
        self._receiver = receiver

    def carry_out(self, effects: list[Effect], now: Instant) -> list[Effect]:
        """Handle the messages among these effects that stay in the broker; return the others."""
        if not any(type(each) in BETWEEN_QUEUES for each in effects):
            return effects
        broker = self._routes.broker
        pending = deque(effects)
        finished: list[Effect] = []
        while pending:
            effect = pending.popleft()
            if type(effect) is SendToBroker:
                if effect.message.destination != broker:
                    send = self._routes.link_effect(effect)
                    if send is not None:
                        finished.append(send)
                    continue
            elif type(effect) is not SendWithinBroker:
                finished.append(effect)
                continue
            followed: list[Effect] = []
            self._receiver.deliver(effect.message, now, followed)
            pending.extend(followed)
        return finished

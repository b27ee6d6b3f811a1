"""Effects between the queues of one broker and of several, and the routes between brokers.

Queues and alias queues do not hold references to each other.  They return these effects; the
broker (penstock.services.queues.local_delivery) carries them out before it returns its own effects
to the driver, which never sees them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from penstock.core.machine import Effect, LinkName, Priority, Send
from penstock.services.queues.messages import (
    DeadLetter,
    Forward,
    HandedOver,
    HandOver,
    LetterBuried,
    RelayedReply,
    RelayedSend,
    Remembered,
    Routed,
)

BetweenBrokers: TypeAlias = Routed | RelayedSend | RelayedReply
WithinBroker: TypeAlias = DeadLetter | LetterBuried | HandOver | HandedOver | Remembered


class SendToBroker(Effect, frozen=True, gc=False):
    """Send a message to the broker that it names as its destination, which may be this one.

    The message is dropped if that broker cannot be reached.
    """

    message: BetweenBrokers
    priority: Priority = Priority.CONTROL
    flow: str = ""


class SendWithinBroker(Effect, frozen=True, gc=False):
    """Pass a message to another queue or alias queue of the same broker."""

    message: WithinBroker


class Routes:
    """The name of this broker, and the first link to each broker that can be reached."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.next_hops: Mapping[str, LinkName] = {}

    def replace(self, next_hops: Mapping[str, LinkName]) -> tuple[list[str], set[str]]:
        """Use these routes from now on.

        Returns the brokers that can be reached now and could not before, and the brokers to which
        the first link is new or has changed.
        """
        before, self.next_hops = self.next_hops, dict(next_hops)
        gained = [broker for broker in next_hops if broker not in before]
        changed = {broker for broker, link in next_hops.items() if before.get(broker) != link}
        return gained, changed

    def is_reachable(self, broker: str) -> bool:
        """Whether there is a link towards another broker, or it is this one."""
        return broker == self.broker or broker in self.next_hops

    def link_effect(self, effect: SendToBroker) -> Send | None:
        """The effect on a link that sends a message towards another broker; None without one."""
        hop = self.next_hops.get(effect.message.destination)
        return None if hop is None else Send(hop, effect.message, effect.priority, effect.flow)


def priority_of(message: BetweenBrokers) -> Priority:
    """The priority of a message that this broker passes on for others."""
    return Priority.DATA if isinstance(message, Forward | RelayedSend) else Priority.CONTROL

"""What an application tells its gossip peer, and what the peer orders for it."""

from __future__ import annotations

import msgspec

from penstock.content.rows.columns import AttributeValue
from penstock.core.datagrams import Address
from penstock.core.machine import Effect, Fact
from penstock.services.gossip.messages import Event, EventId
from penstock.services.gossip.parameters import GossipParameters


class Publish(Fact, frozen=True):
    """Broadcast this, as soon as the rate allows; the answer carries the same token."""

    token: int
    payload: bytes
    attributes: dict[str, AttributeValue] = msgspec.field(default_factory=dict)


class ResizeBuffer(Fact, frozen=True):
    """Keep so many events from now on."""

    events: int


class Meet(Fact, frozen=True):
    """These addresses may be members of the group."""

    addresses: tuple[Address, ...]


class Leave(Fact, frozen=True):
    """Say farewell and fall silent."""


class Published(Effect, frozen=True):
    """The publication under this token is on its way, under this identifier."""

    token: int
    id: EventId


class PublicationRefused(Effect, frozen=True):
    """The publication under this token will not be sent, and why."""

    token: int
    reason: str


class DeliverEvents(Effect, frozen=True, gc=False):
    """Hand events to the application; each event at most once, in the order of arrival."""

    events: tuple[Event, ...]


class JoinGroup(Fact, frozen=True):
    """A process becomes a peer of a group, and asks these addresses for the others."""

    parameters: GossipParameters
    contacts: tuple[Address, ...]


class InGroup(Fact, frozen=True):
    """A fact for the peer that a process is in one of its groups."""

    group: str
    fact: Fact


class FromGroup(Effect, frozen=True, gc=False):
    """What the peer of one group orders for the application."""

    group: str
    effect: Effect

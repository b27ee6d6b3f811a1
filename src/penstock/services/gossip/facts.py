"""The facts that an application gives its gossip peer, and the effects that it gets back."""

from __future__ import annotations

import msgspec

from penstock.content.rows.columns import AttributeValue
from penstock.core.datagrams import Address
from penstock.core.machine import Effect, Fact, ToApplication
from penstock.services.gossip.messages import Event, EventId
from penstock.services.gossip.parameters import GossipParameters


class PublishEvent(Fact, frozen=True):
    """Broadcast an event as soon as the rate allows; the answer carries the same token."""

    token: int
    payload: bytes
    attributes: dict[str, AttributeValue] = msgspec.field(default_factory=dict)


class ResizeBuffer(Fact, frozen=True):
    """Change the number of events that the peer keeps."""

    events: int


class Meet(Fact, frozen=True):
    """These addresses may be members of the group."""

    addresses: tuple[Address, ...]


class Leave(Fact, frozen=True):
    """Send a farewell and leave the group."""


class Published(ToApplication, frozen=True):
    """The publication of this token is on its way, under this identifier."""

    token: int
    id: EventId


class PublicationRefused(ToApplication, frozen=True):
    """The publication of this token will not be sent; ``reason`` says why."""

    token: int
    reason: str


class DeliverEvents(ToApplication, frozen=True, gc=False):
    """Hand events to the application; each event at most once, in the order of arrival."""

    events: tuple[Event, ...]


class JoinGossipGroup(Fact, frozen=True):
    """Make this process a peer of a group; it learns of the members from ``contacts``."""

    parameters: GossipParameters
    contacts: tuple[Address, ...]


class InGroup(Fact, frozen=True):
    """A fact for this process's peer in one group."""

    group: str
    fact: Fact


class FromGroup(ToApplication, frozen=True, gc=False):
    """An effect of one group's peer, for the application."""

    group: str
    effect: Effect

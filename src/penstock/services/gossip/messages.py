"""The messages between gossip peers.

One round's gossip to one target is a header and the buffered events, split into as many datagrams
as the datagram size requires.  The first datagram carries the header.  Ages are encoded apart from
the events, one byte each, because an event is the same at every peer and its age is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from penstock.content.rows.columns import (
    INTEGER_MAX,
    INTEGER_MIN,
    PYTHON_TYPES,
    InvalidAttribute,
)
from penstock.core.datagrams import Address
from penstock.core.limits import ANY_MARK, AnyFloat, Count, Name, Text
from penstock.core.message import Message, UdpMessage

ORIGIN_BYTES: Final = 8
SEQUENCE_BYTES: Final = 6
EVENT_ID_BYTES: Final = ORIGIN_BYTES + SEQUENCE_BYTES

EventId: TypeAlias = bytes
"""The origin (drawn at random when a peer starts) and its sequence number."""

LATEST_PERIOD: Final = 2**62
"""Periods are counted from 0 on.  With ``LARGEST_ADVANCE`` this value is out of reach, so that no
peer can advance the group's periods beyond what can be encoded."""

LARGEST_ADVANCE: Final = 2**20
"""By how many periods one gossip can advance a peer's own.  A newcomer to a group that is ten years
old catches up within 60 gossips."""

Period = Annotated[int, msgspec.Meta(ge=0, le=LATEST_PERIOD)]
Estimate = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1)]
Known = Annotated[Address, msgspec.Meta(min_length=1, max_length=48)]
"""The longest numeric address with its port has 47 characters."""


MOST_IN_DATAGRAM: Final = 1 << 14
LONGEST_DATAGRAM_VALUE: Final = 1 << 16
"""More than fit into a datagram, which is the limit of everything in it."""

DatagramBytes = Annotated[bytes, msgspec.Meta(max_length=LONGEST_DATAGRAM_VALUE)]
AnyValue = Annotated[Any, msgspec.Meta(extra={ANY_MARK: True})]
"""Checked after it was read (``check_attributes``)."""

Token = Annotated[int, msgspec.Meta(ge=0, extra={ANY_MARK: True})]


def event_id(origin: int, sequence: int) -> EventId:
    """The identifier of an origin's event."""
    return origin.to_bytes(ORIGIN_BYTES, "big") + sequence.to_bytes(SEQUENCE_BYTES, "big")


def check_attributes(attributes: Mapping[str, object]) -> None:
    """Raise ``InvalidAttribute`` unless every value is of a type that messages carry."""
    for name, value in attributes.items():
        if not isinstance(name, str):
            raise InvalidAttribute(f"attribute name {name!r} is not a string")
        kind = type(value)
        if kind not in PYTHON_TYPES:
            raise InvalidAttribute(
                f"attribute {name!r} has a value of type {kind.__name__}; "
                "use str, int, float, bool or bytes"
            )
        if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
            raise InvalidAttribute(
                f"attribute {name!r} holds an integer outside the 64-bit range; "
                "send it as a string or a float"
            )


def credible_period(claimed: int, own: int) -> int:
    """A period that a peer claims, limited to the largest advance of one gossip."""
    return min(claimed, own + LARGEST_ADVANCE)


class Event(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an application broadcasts."""

    id: Annotated[EventId, msgspec.Meta(min_length=EVENT_ID_BYTES, max_length=EVENT_ID_BYTES)]
    payload: DatagramBytes
    attributes: Annotated[dict[Name, AnyValue], msgspec.Meta(max_length=MOST_IN_DATAGRAM)] = {}
    """Values are ``AttributeValue``.  MessagePack allows more types, and the decoder supports no
    union of text and bytes, so values are checked after decoding."""

    def __post_init__(self) -> None:
        """Raise ``InvalidAttribute``; where a decoder makes the event, the datagram is refused."""
        if self.attributes:
            check_attributes(self.attributes)


class BufferClaim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A peer's buffer size, for the n smallest of a sample period."""

    events: Annotated[int, msgspec.Meta(ge=0, le=2**31)]
    origin: Annotated[int, msgspec.Meta(ge=0, extra={ANY_MARK: True})]
    """Eight bytes; MessagePack has no larger numbers."""


class Acquaintance(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A member, and the number of rounds since its own last gossip."""

    address: Known
    rounds: Annotated[int, msgspec.Meta(ge=0, le=2**16)]


class Header(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The content of a round's gossip besides events."""

    members: Annotated[tuple[Acquaintance, ...], msgspec.Meta(max_length=256)]
    departed: Annotated[tuple[Known, ...], msgspec.Meta(max_length=256)]
    period: Period
    poorest: Annotated[tuple[BufferClaim, ...], msgspec.Meta(max_length=64)]
    """The smallest buffers heard of in this sample period, smallest first."""
    size_period: Period
    size_sketch: Annotated[bytes, msgspec.Meta(max_length=64)]
    mean_rate_msgs_per_s: Estimate
    mean_rate_weight: Weight
    """The gossiped mean of the allowed rates of the senders that are held back."""
    receipt: Weight
    receipt_weight: Weight
    """The gossiped mean of the share of events received."""


class Gossip(UdpMessage, frozen=True, gc=False):
    """One datagram of a round's gossip."""

    group: Name
    sender: Known
    header: Header | None
    events: Annotated[tuple[Event, ...], msgspec.Meta(max_length=MOST_IN_DATAGRAM)]
    ages: DatagramBytes


class WhyRequest(UdpMessage, frozen=True):
    """Asks a peer on this machine what holds its publications back."""

    group: Name
    token: Token


class Why(UdpMessage, frozen=True):
    """What holds a sender back, and every number that decides it."""

    group: Name
    token: Token
    peer: Name
    law: Name
    cause: Text
    allowed_rate_msgs_per_s: AnyFloat
    published_rate_msgs_per_s: AnyFloat
    waiting: Count
    tokens: AnyFloat
    average_tokens: AnyFloat
    bucket_tokens: Count
    average_age: AnyFloat
    low_age_mark: AnyFloat
    high_age_mark: AnyFloat
    minimum_buffer: Count
    own_buffer: Count
    copies_for_each_event: AnyFloat
    copies_target: AnyFloat
    receipt: AnyFloat
    group_size: AnyFloat
    members_known: Count


GOSSIP_MESSAGES: tuple[type[Message], ...] = (Gossip, WhyRequest, Why)

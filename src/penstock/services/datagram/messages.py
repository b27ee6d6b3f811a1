"""The messages of the datagram service: control on connections, all else as datagrams.

Clients are addressed as ``name@broker``, the broker being the one that they are connected to.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from penstock.core.limits import (
    Address,
    AnyFloat,
    AskedSelector,
    ClockDifference,
    Document,
    DurationLimited,
    InstantLimited,
    Name,
    Rate,
    RequestNumber,
    SelectorTexts,
    Sequence,
    Text,
)
from penstock.core.message import (
    DATAGRAMS,
    BrokerMessage,
    ClientReply,
    ClientRequest,
    UdpMessage,
)

ClientAddress: TypeAlias = str
"""``name@broker``."""

LONGEST_DATAGRAM_VALUE: Final = 1 << 16
"""The capacity of a datagram, and so the limit of every value in it."""

MOST_FLOWS: Final = 1 << 14
"""More than fit into a datagram."""

DatagramBytes: TypeAlias = Annotated[bytes, msgspec.Meta(max_length=LONGEST_DATAGRAM_VALUE)]
DatagramText: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_DATAGRAM_VALUE)]
Integer: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]

SelectorHash: TypeAlias = Annotated[int, msgspec.Meta(ge=0, lt=2**32)]
"""The CRC-32 of a selector's text (``selectors.hash_of``)."""

Attribute: TypeAlias = DatagramText | Integer | AnyFloat | bool
"""What an attribute may hold; binary values belong into the payload."""


def address_of(name: str, broker: str) -> ClientAddress:
    """The address of a client at a broker."""
    return f"{name}@{broker}"


def broker_of(address: ClientAddress) -> str:
    """The broker that a client is connected to."""
    return address.rpartition("@")[2]


# -- between a client and its broker, on the connection ----------------------------------------


class OpenDatagram(ClientRequest, frozen=True):
    """A client wants to subscribe under a name, and to publish if it says so."""

    name: Name
    publishes: bool


class DatagramOpened(ClientReply, frozen=True):
    """The client has the name, and this is its address; or the reason for a refusal."""

    role: ClassVar[str] = DATAGRAMS

    name: Name
    address: Address
    problem: Text = ""


class CloseDatagram(ClientRequest, frozen=True):
    """The client closes; its name and its subscriptions are released."""


class SubscribeDatagrams(ClientRequest, frozen=True):
    """A client wants the messages that a selector selects; ``filter_id`` is its own number."""

    filter_id: Sequence
    selector: AskedSelector


class DatagramsSubscribed(ClientReply, frozen=True):
    """The subscription is in force here and is being sent to other brokers; or the problem."""

    role: ClassVar[str] = DATAGRAMS

    filter_id: Sequence
    problem: Text = ""


class UnsubscribeDatagrams(ClientRequest, frozen=True):
    """A client ends a subscription."""

    filter_id: Sequence


class DatagramWhyQuestion(ClientReply, frozen=True):
    """The broker forwards a ``why`` request to the publisher."""

    role: ClassVar[str] = DATAGRAMS

    token: RequestNumber


class DatagramWhyAnswer(ClientRequest, frozen=True):
    """The publisher's answer."""

    token: RequestNumber
    document: Document


# -- between brokers, on the link's connection ---------------------------------------------------


class SourceAnnouncement(BrokerMessage, frozen=True):
    """A broker has publishers (or none any more); flooded, a later version replaces an earlier."""

    broker: Name
    incarnation: InstantLimited
    version: Sequence
    has_publishers: bool


class Interest(BrokerMessage, frozen=True):
    """A broker's interests in one source's publishers, sent to its neighbour on the path there.

    ``anew`` replaces all earlier interests for this source.
    """

    source: Name
    wanted: SelectorTexts
    unwanted: SelectorTexts
    anew: bool = False


# -- datagrams -----------------------------------------------------------------------------------


class FlowTag(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One controlled flow that a publication belongs to (Figure 2).

    ``receiver`` is the flow's limiting receiver and ``filter_id`` its own number for the filter.
    ``sequence`` counts the publications that carry this flow's tag, so that its receiver sees every
    loss; ``selector_hash`` lets the other receivers with the same selector see theirs.
    ``feedback_delay_ns`` is how long the receiver's last report took by the two clocks (the
    paper's δ): added to what this publication takes, it gives the round trip, in which the clocks'
    difference cancels.
    """

    receiver: Address
    filter_id: Sequence
    sequence: Sequence
    feedback_delay_ns: ClockDifference
    selector_hash: SelectorHash = 0


class Publication(UdpMessage, frozen=True):
    """A message with its congestion control header (Figure 2).

    ``record`` has the encodings of the publisher's previous messages, newest first.  All numbers
    restart with a new ``incarnation``.
    """

    source: Address
    incarnation: InstantLimited
    sequence: Sequence
    sent_at: InstantLimited
    publish_rate_msgs_per_s: Rate
    record: DatagramBytes
    flows: Annotated[tuple[FlowTag, ...], msgspec.Meta(max_length=MOST_FLOWS)]
    attributes: Annotated[dict[Name, Attribute], msgspec.Meta(max_length=MOST_FLOWS)]
    payload: DatagramBytes


class FlowRequest(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One filter of a report, and the rate that its receiver wants of it."""

    filter_id: Sequence
    selector: AskedSelector
    quota_msgs_per_s: Rate
    reception_msgs_per_s: Rate


class DecidedBy(IntEnum):
    """What a subscriber's latest decision was based on, as a code that takes one byte."""

    NO_LIMIT = 0
    EQUATION = 1
    DELAY = 2
    DRAIN = 3


class Feedback(UdpMessage, frozen=True):
    """A subscriber's report to a publisher.

    Loss, round trip and ``decided_by`` only serve ``why`` answers.
    """

    to: Address
    sender: Address
    sent_at: InstantLimited
    loss_event_rate: Rate
    round_trip_ns: DurationLimited
    requests: Annotated[tuple[FlowRequest, ...], msgspec.Meta(max_length=MOST_FLOWS)]
    decided_by: DecidedBy = DecidedBy.NO_LIMIT


class EchoRequest(UdpMessage, frozen=True):
    """A subscriber measures the round trip to a publisher."""

    to: Address
    sender: Address
    sent_at: InstantLimited


class EchoReply(UdpMessage, frozen=True):
    """The publisher's answer, with its own clock."""

    to: Address
    sender: Address
    request_sent_at: InstantLimited
    sent_at: InstantLimited


Unicast: TypeAlias = Feedback | EchoRequest | EchoReply

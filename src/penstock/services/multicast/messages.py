"""The messages of the multicast service: groups, prices and rows, of brokers and of clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, ClassVar, Final, TypeAlias

import msgspec

from penstock.content.rows.batch import Batch
from penstock.core.limits import (
    MOST_STREAMS,
    ROWS_MARK,
    Address,
    Count,
    CountBytes,
    Document,
    DurationLimited,
    Hash,
    InstantLimited,
    Name,
    Names,
    Rate,
    Sequence,
    Stamp,
    Text,
)
from penstock.core.message import (
    PUBLISHER,
    Answer,
    BrokerMessage,
    ClientReply,
    ClientRequest,
    Request,
    RowsRequest,
    participant_key,
)

MEMBER: Final = "member"
"""The role of the participants of a client's session that this service answers."""

MOST_MEMBERS: Final = 1 << 20
"""The most groups at one broker, and the most members of one group."""

MOST_NAMED: Final = 16
"""Prices that a message names: 80 bytes.  A tree on which more links cost something at once is
rare, and its senders get little: the links that are left out hold somewhat more than their
target."""

Members: TypeAlias = Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_MEMBERS)]

# -- brokers: membership ---------------------------------------------------------------------------


class Membership(BrokerMessage, frozen=True):
    """All members at one broker: its clients' names by group.

    A later ``(incarnation, sequence)`` replaces an earlier one.
    """

    broker: Name
    incarnation: InstantLimited
    sequence: Sequence
    groups: Annotated[dict[Name, Members], msgspec.Meta(max_length=MOST_MEMBERS)]


class MembershipChange(BrokerMessage, frozen=True):
    """One client joined or left a group at one broker; changes are applied in order of number."""

    broker: Name
    incarnation: InstantLimited
    sequence: Sequence
    group: Name
    member: Name
    joined: bool


class MembershipTold(BrokerMessage, frozen=True):
    """After a link came up: the neighbour has sent all memberships that it knows."""


class MembershipWanted(BrokerMessage, frozen=True):
    """A change is missing before a received one: asks for the whole membership of this broker."""

    broker: Name


# -- brokers: prices -------------------------------------------------------------------------------


class PriceRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The price of one direction of one link; ``link`` is ``link_number`` of its two ends."""

    link: Hash
    sequence: Sequence
    price: Rate


class Prices(BrokerMessage, frozen=True, gc=False):
    """Prices that changed or are repeated; a message with one record has 64 bytes on the wire.

    If a multicast message goes the same way, it carries the prices instead (``Multicast.prices``).
    """

    records: Annotated[tuple[PriceRecord, ...], msgspec.Meta(max_length=MOST_STREAMS)]


# -- brokers: messages -----------------------------------------------------------------------------


class Destination(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One destination broker of a message, and its position in the stream from origin to there."""

    broker: Name
    stamp: Stamp
    """The last 32 bits of the receiver's incarnation: a restarted broker ignores messages for its
    previous incarnation."""
    position: Sequence
    floor: Sequence
    """All positions below were confirmed or given up; a receiver without state begins here."""


class Multicast(BrokerMessage, frozen=True, gc=False):
    """Rows from the broker of their sender to the brokers with members."""

    origin: Name
    incarnation: InstantLimited
    sender: Address
    first_sequence: Sequence
    groups: Names
    destinations: Annotated[tuple[Destination, ...], msgspec.Meta(max_length=MOST_STREAMS)]
    paid: Rate
    named: Annotated[tuple[Stamp, ...], msgspec.Meta(max_length=MOST_NAMED)]
    """The prices that the sender used, of the links ahead (``prices.names``)."""
    hops: Count
    batch: Annotated[Batch, msgspec.Meta(extra={ROWS_MARK: True})]
    prices: Annotated[tuple[PriceRecord, ...], msgspec.Meta(max_length=MOST_STREAMS)] = ()
    """Prices for the neighbour, not for the receivers: carried by this message over one link."""


class Reception(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Everything below ``position`` of a stream was handed to the members at ``receiver``."""

    origin: Name
    incarnation: InstantLimited
    receiver: Name
    position: Sequence
    seen: Sequence
    """The end of the received part; messages are missing in between if ``position`` is less."""
    held_ns: DurationLimited
    """How long the newest message and this waited before this was sent, for measuring the round
    trip."""


class MulticastReceived(BrokerMessage, frozen=True, gc=False):
    """The confirmations of one stream, or of several that take the same link."""

    receptions: Annotated[tuple[Reception, ...], msgspec.Meta(max_length=MOST_STREAMS)]


# -- clients: sending ------------------------------------------------------------------------------


class OpenGroupSender(ClientRequest, frozen=True):
    """Opens a sender under a name that survives reconnections."""

    producer: Name
    weight: Rate = 1.0
    """Its rate as a multiple of that of a sender of weight 1 on the same links; the broker reduces
    it to ``highest_weight``."""


class CloseGroupSender(ClientRequest, frozen=True):
    """The client stops sending under this name; there is no answer."""

    producer: Name


class GroupSenderOpened(ClientReply, frozen=True):
    """The sender may send; or why not."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    problem: Text = ""


class SendToGroups(RowsRequest, frozen=True, gc=False):
    """Rows for every member of at least one of these groups, once each.

    A group that begins with ``@`` is the single client of that name.
    """

    producer: Name
    groups: Names
    first_sequence: Sequence
    batch: Batch
    must_exist: bool = False
    """Whether a group without members is an error."""

    def refused(self, reason: str) -> GroupSendRefused:
        """Answer that no member receives the batch."""
        return GroupSendRefused(self.producer, self.first_sequence, len(self.batch), reason)


class GroupSendReceipt(ClientReply, frozen=True, gc=False):
    """Every broker with members has these rows."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    receivers: Count
    """The number of those brokers."""
    waited_ns: DurationLimited
    """How long the flow control held them back."""


class GroupSendRefused(ClientReply, frozen=True):
    """No member receives these rows; with the reason."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    reason: Text


# -- clients: receiving ----------------------------------------------------------------------------


class JoinGroup(ClientRequest, frozen=True):
    """A client joins a group under its own name; ``window_bytes`` limits unread deliveries."""

    member: Name
    group: Name
    window_bytes: CountBytes


class MemberReply(ClientReply, frozen=True):
    """A reply to one member of one group."""

    role: ClassVar[str] = MEMBER

    member: Name
    group: Name

    def addressees(self) -> Iterable[str]:
        """The member in this group."""
        return (participant_key(self.role, self.member, self.group),)


class GroupJoined(MemberReply, frozen=True):
    """The client is a member; or why not."""

    problem: Text = ""


class LeaveGroup(ClientRequest, frozen=True):
    """A client leaves a group."""

    member: Name
    group: Name


class GroupLeft(MemberReply, frozen=True):
    """The client has left the group; no delivery for this group follows."""


class GroupView(MemberReply, frozen=True):
    """The members of a group that this broker knows: ``name@broker``, sorted."""

    view: Sequence
    members: Annotated[tuple[Address, ...], msgspec.Meta(max_length=MOST_MEMBERS)]


class GroupDelivery(ClientReply, frozen=True, gc=False):
    """Rows for a member, of one sender, in order."""

    role: ClassVar[str] = MEMBER

    member: Name
    sender: Address
    groups: Names
    first_sequence: Sequence
    batch: Batch

    def addressees(self) -> Iterable[str]:
        """The member in any of the groups; the client takes the message once."""
        return [participant_key(self.role, self.member, group) for group in self.groups]


class GroupTaken(ClientRequest, frozen=True, gc=False):
    """The member's application has taken ``taken_bytes`` of its deliveries."""

    quick: ClassVar[bool] = True

    member: Name
    taken_bytes: CountBytes


# -- clients: questions ----------------------------------------------------------------------------


class AskGroups(Request, frozen=True):
    """Asks for the members of a group, or (empty) of every group."""

    answer: ClassVar[str] = "GroupsAnswer"

    group: Name = ""


class GroupsAnswer(Answer, frozen=True):
    """The answer, as JSON; or the reason for a failure."""

    document: Document = b""

"""What the brokers say to each other about groups, prices and messages, and clients to brokers."""

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
"""The participants of a client's session that this service answers."""

MOST_MEMBERS: Final = 1 << 20
"""Groups at one broker, and members of one group."""

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
    """After a link came up: everything that the neighbour knows of memberships has been told."""


class MembershipWanted(BrokerMessage, frozen=True):
    """A change came whose predecessor did not: tell the whole membership of this broker."""

    broker: Name


# -- brokers: prices -------------------------------------------------------------------------------


class PriceRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The price of one direction of one link; ``link`` is ``link_number`` of its two ends."""

    link: Hash
    sequence: Sequence
    price: Rate


class Prices(BrokerMessage, frozen=True, gc=False):
    """Prices that changed, or are told again; one record makes 64 bytes on the wire.

    Where a message goes the same way they ride on it instead (``Multicast.prices``).
    """

    records: Annotated[tuple[PriceRecord, ...], msgspec.Meta(max_length=MOST_STREAMS)]


# -- brokers: messages -----------------------------------------------------------------------------


class Destination(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One broker that a message is for, and where it stands in the stream from origin to there."""

    broker: Name
    stamp: Stamp
    """The last 32 bits of the receiver's incarnation: a broker that was started anew takes nothing
    that was meant for its predecessor."""
    position: Sequence
    floor: Sequence
    """Everything below was confirmed, or given up; a receiver that knows nothing begins here."""


class Multicast(BrokerMessage, frozen=True, gc=False):
    """Rows on their way from the broker of their sender to the brokers with members."""

    origin: Name
    incarnation: InstantLimited
    sender: Address
    first_sequence: Sequence
    groups: Names
    destinations: Annotated[tuple[Destination, ...], msgspec.Meta(max_length=MOST_STREAMS)]
    paid: Rate
    named_link: Hash
    named_price: Sequence
    """The dearest link of the tree, and the price of it that the sender went by; 0 without one."""
    hops: Count
    batch: Annotated[Batch, msgspec.Meta(extra={ROWS_MARK: True})]
    prices: Annotated[tuple[PriceRecord, ...], msgspec.Meta(max_length=MOST_STREAMS)] = ()
    """For the neighbour, not for the receivers: prices that ride on this message over one link."""


class MulticastReceived(BrokerMessage, frozen=True, gc=False):
    """Everything below ``position`` of a stream was handed to the members at ``receiver``."""

    origin: Name
    incarnation: InstantLimited
    receiver: Name
    position: Sequence
    seen: Sequence
    """The end of what has arrived; what lies between is missing if ``position`` is less."""
    held_ns: DurationLimited
    """How long the newest message was here before this was said, so that a round trip is known."""


# -- clients: sending ------------------------------------------------------------------------------


class OpenGroupSender(ClientRequest, frozen=True):
    """A client is about to send under this name, which survives its reconnections."""

    producer: Name
    weight: Rate = 1.0
    """What its benefit is multiplied by; the broker cuts it to ``highest_weight``."""


class CloseGroupSender(ClientRequest, frozen=True):
    """The client sends no more under this name; nothing is answered."""

    producer: Name


class GroupSenderOpened(ClientReply, frozen=True):
    """The sender may send; or why not."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    problem: Text = ""


class SendToGroups(RowsRequest, frozen=True, gc=False):
    """Rows for everybody in at least one of these groups, once each.

    A group that begins with ``@`` is the one client of that name.
    """

    producer: Name
    groups: Names
    first_sequence: Sequence
    batch: Batch
    must_exist: bool = False
    """Whether a group without members is an error."""

    def refused(self, reason: str) -> GroupSendRefused:
        """The batch goes to no member."""
        return GroupSendRefused(self.producer, self.first_sequence, len(self.batch), reason)


class GroupSendReceipt(ClientReply, frozen=True, gc=False):
    """Every broker with members has these rows."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    receivers: Count
    """How many brokers those were."""
    waited_ns: DurationLimited
    """How long the flow control held them back."""


class GroupSendRefused(ClientReply, frozen=True):
    """Nobody gets these rows."""

    role: ClassVar[str] = PUBLISHER
    named_by: ClassVar[str] = "producer"

    producer: Name
    first_sequence: Sequence
    count: Count
    reason: Text


# -- clients: receiving ----------------------------------------------------------------------------


class JoinGroup(ClientRequest, frozen=True):
    """A client joins a group under its own name; ``window_bytes`` is what it takes in advance."""

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
    """Nothing for this group follows."""


class GroupView(MemberReply, frozen=True):
    """Who is in a group, as this broker knows it: ``name@broker``, in order."""

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
    """The member's program has taken so many bytes of what was delivered."""

    quick: ClassVar[bool] = True

    member: Name
    taken_bytes: CountBytes


# -- clients: questions ----------------------------------------------------------------------------


class AskGroups(Request, frozen=True):
    """Asks for the members of a group, or (empty) of every group."""

    answer: ClassVar[str] = "GroupsAnswer"

    group: Name = ""


class GroupsAnswer(Answer, frozen=True):
    """The answer, as JSON; or why there is none."""

    document: Document = b""

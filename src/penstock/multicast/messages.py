"""What the brokers say to each other about groups, prices and messages, and clients to brokers."""

from __future__ import annotations

import msgspec

from penstock.content.batch import Batch
from penstock.core.clock import Duration
from penstock.core.message import Message

# -- brokers: membership ---------------------------------------------------------------------------


class Membership(Message, frozen=True):
    """All members at one broker: its clients' names by group.

    A later ``(incarnation, sequence)`` replaces an earlier one.
    """

    broker: str
    incarnation: int
    sequence: int
    groups: dict[str, tuple[str, ...]]


class MembershipChange(Message, frozen=True):
    """One client joined or left a group at one broker; changes are applied in order of number."""

    broker: str
    incarnation: int
    sequence: int
    group: str
    member: str
    joined: bool


class MembershipTold(Message, frozen=True):
    """After a link came up: everything that the neighbour knows of memberships has been told."""


class MembershipWanted(Message, frozen=True):
    """A change came whose predecessor did not: tell the whole membership of this broker."""

    broker: str


# -- brokers: prices -------------------------------------------------------------------------------


class PriceRecord(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The price of one direction of one link; ``link`` is ``link_number`` of its two ends."""

    link: int
    sequence: int
    price: float


class Prices(Message, frozen=True, gc=False):
    """Prices that changed, or are told again; one record makes 64 bytes on the wire.

    Where a message goes the same way they ride on it instead (``Multicast.prices``).
    """

    records: tuple[PriceRecord, ...]


# -- brokers: messages -----------------------------------------------------------------------------


class Destination(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One broker that a message is for, and where it stands in the stream from origin to there."""

    broker: str
    stamp: int
    """The last 32 bits of the receiver's incarnation: a broker that was started anew takes nothing
    that was meant for its predecessor."""
    position: int
    floor: int
    """Everything below was confirmed, or given up; a receiver that knows nothing begins here."""


class Multicast(Message, frozen=True, gc=False):
    """Rows on their way from the broker of their sender to the brokers with members."""

    origin: str
    incarnation: int
    sender: str
    first_sequence: int
    groups: tuple[str, ...]
    destinations: tuple[Destination, ...]
    paid: float
    named_link: int
    named_price: int
    """The dearest link of the tree, and the price of it that the sender went by; 0 without one."""
    hops: int
    batch: Batch
    prices: tuple[PriceRecord, ...] = ()
    """For the neighbour, not for the receivers: prices that ride on this message over one link."""


class MulticastReceived(Message, frozen=True, gc=False):
    """Everything below ``position`` of a stream was handed to the members at ``receiver``."""

    origin: str
    incarnation: int
    receiver: str
    position: int
    seen: int
    """The end of what has arrived; what lies between is missing if ``position`` is less."""
    held_ns: Duration
    """How long the newest message was here before this was said, so that a round trip is known."""


# -- clients: sending ------------------------------------------------------------------------------


class OpenGroupSender(Message, frozen=True):
    """A client is about to send under this name, which survives its reconnections."""

    producer: str
    weight: float = 1.0
    """What its benefit is multiplied by; the broker cuts it to ``highest_weight``."""


class GroupSenderOpened(Message, frozen=True):
    """The sender may send; or why not."""

    producer: str
    problem: str = ""


class SendToGroups(Message, frozen=True, gc=False):
    """Rows for everybody in at least one of these groups, once each.

    A group that begins with ``@`` is the one client of that name.
    """

    producer: str
    groups: tuple[str, ...]
    first_sequence: int
    batch: Batch
    must_exist: bool = False
    """Whether a group without members is an error."""


class GroupSendReceipt(Message, frozen=True, gc=False):
    """Every broker with members has these rows."""

    producer: str
    first_sequence: int
    count: int
    receivers: int
    """How many brokers those were."""
    waited_ns: Duration
    """How long the flow control held them back."""


class GroupSendRefused(Message, frozen=True):
    """Nobody gets these rows."""

    producer: str
    first_sequence: int
    count: int
    reason: str


# -- clients: receiving ----------------------------------------------------------------------------


class JoinGroup(Message, frozen=True):
    """A client joins a group under its own name; ``window_bytes`` is what it takes in advance."""

    member: str
    group: str
    window_bytes: int


class GroupJoined(Message, frozen=True):
    """The client is a member; or why not."""

    member: str
    group: str
    problem: str = ""


class LeaveGroup(Message, frozen=True):
    """A client leaves a group."""

    member: str
    group: str


class GroupLeft(Message, frozen=True):
    """Nothing for this group follows."""

    member: str
    group: str


class GroupView(Message, frozen=True):
    """Who is in a group, as this broker knows it: ``name@broker``, in order."""

    member: str
    group: str
    view: int
    members: tuple[str, ...]


class GroupDelivery(Message, frozen=True, gc=False):
    """Rows for a member, of one sender, in order."""

    member: str
    sender: str
    groups: tuple[str, ...]
    first_sequence: int
    batch: Batch


class GroupTaken(Message, frozen=True, gc=False):
    """The member's program has taken so many bytes of what was delivered."""

    member: str
    taken_bytes: int


# -- clients: questions ----------------------------------------------------------------------------


class AskGroups(Message, frozen=True):
    """Asks for the members of a group, or (empty) of every group."""

    request: int
    group: str = ""


class WhySender(Message, frozen=True):
    """Asks what holds a client's group senders back."""

    request: int
    client: str


class GroupsAnswer(Message, frozen=True):
    """The answer, as JSON; or why there is none."""

    request: int
    document: bytes
    problem: str = ""

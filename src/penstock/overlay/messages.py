"""What brokers say to each other about the overlay itself."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

from msgspec import Meta

from penstock.core.limits import (
    MOST_STREAMS,
    Cost,
    Document,
    InstantLimited,
    Name,
    Names,
    PortNumber,
    Secret,
    Sequence,
    SignedCountBytes,
    Text,
)
from penstock.core.message import (
    DATAGRAMS,
    Answer,
    BrokerMessage,
    ClientReply,
    ClientRequest,
    ConnectionMessage,
    Request,
    Right,
    UdpMessage,
)

NAME_TAKEN: Final = "name-taken"
"""Goodbye to a broker whose name another broker has that is connected here."""


class LinkState(BrokerMessage, frozen=True):
    """A broker's own account of its links and pubends.

    A later ``(incarnation, sequence)`` replaces an earlier one.  The incarnation is the instant at
    which the broker was started.
    """

    broker: Name
    incarnation: InstantLimited
    sequence: Sequence
    neighbours: Annotated[dict[Name, Cost], Meta(max_length=MOST_STREAMS)]
    pubends: Names


class Hello(ConnectionMessage, frozen=True):
    """The first message in each direction of every connection: who is speaking.

    ``role`` is "broker" or "client".  A broker's ``identity`` belongs to its data directory: two
    brokers of one name and different identities are not the same broker.
    """

    role: Name
    name: Name
    incarnation: InstantLimited
    software: Name
    identity: Name = ""


class Goodbye(ConnectionMessage, frozen=True):
    """The last message before a connection is closed on purpose, with the reason.

    ``code`` is for programs, where one has to act on the reason (``NAME_TAKEN``), and ``subject``
    names what it is about, if that is not the connection itself.
    """

    reason: Text
    code: Name = ""
    subject: Name = ""


class Heartbeat(ConnectionMessage, frozen=True):
    """Nothing but a sign of life."""


class StatusRequest(Request, frozen=True):
    """Asks a broker how it is."""

    answer: ClassVar[str] = "Status"


class Status(Answer, frozen=True):
    """A broker's account of itself, as JSON (docs/reference/status.md)."""

    document: Document = b""


class LinkControl(Request, frozen=True):
    """An operator changes a link while it runs: its bandwidth (0 is unlimited), or cuts it."""

    answer: ClassVar[str] = "LinkControlled"
    right: ClassVar[Right] = Right.ADMINISTER

    link: Name
    bandwidth_bytes_per_s: SignedCountBytes
    cut: bool

    def refused(self, reason: str) -> LinkControlled:
        """The link is as it was."""
        reply: LinkControlled = self.answered(self.link, problem=reason)
        return reply


class LinkControlled(Answer, frozen=True):
    """The change is in force, or was refused with a reason."""

    link: Name = ""


# -- datagrams ---------------------------------------------------------------------------------


class DatagramSocketRequest(ClientRequest, frozen=True):
    """A client asks where to send datagrams."""


class DatagramSocketOffer(ClientReply, frozen=True):
    """The broker's port, and the secret by which the client makes its own address known."""

    role: ClassVar[str] = DATAGRAMS

    port: PortNumber
    secret: Secret


class DatagramPort(BrokerMessage, frozen=True):
    """Where a broker's neighbour sends datagrams: a port at the address of the connection."""

    port: PortNumber


class BindAddress(UdpMessage, frozen=True):
    """A client's first datagram: its source address is where the client's datagrams go."""

    secret: Secret


class AddressBound(UdpMessage, frozen=True):
    """The broker has learnt the client's address."""

"""The messages of the overlay itself: link state, connections, operators and datagrams."""

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

MOST_TREES: Final = 4
"""The most trees of one source.  Every selector is registered once in each of them."""

NAME_TAKEN: Final = "name-taken"
"""The Goodbye code for a broker whose name a connected broker already uses."""


class LinkState(BrokerMessage, frozen=True):
    """A broker's description of its own links and pubends.

    A later ``(incarnation, sequence)`` replaces an earlier one.  The incarnation is the instant at
    which the broker was started.  Pubend number i is in the tree of choice i, counted round
    (``overlay.routing``).
    """

    broker: Name
    incarnation: InstantLimited
    sequence: Sequence
    neighbours: Annotated[dict[Name, Cost], Meta(max_length=MOST_STREAMS)]
    pubends: Names
    choices: Annotated[tuple[Cost, ...], Meta(min_length=1, max_length=MOST_TREES)] = (0,)


class Hello(ConnectionMessage, frozen=True):
    """The first message in each direction of every connection; identifies the sender.

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

    ``code`` is set where a program has to act on the reason (``NAME_TAKEN``), and ``subject`` names
    its subject, if that is not the connection itself.
    """

    reason: Text
    code: Name = ""
    subject: Name = ""


class Heartbeat(ConnectionMessage, frozen=True):
    """Sent on an idle connection to show that the sender is alive."""


class StatusRequest(Request, frozen=True):
    """Asks a broker for its status."""

    answer: ClassVar[str] = "Status"


class Status(Answer, frozen=True):
    """The status document of a broker, as JSON (docs/reference/status.md)."""

    document: Document = b""


class LinkControl(Request, frozen=True):
    """An operator changes the bandwidth of a running link (0 is unlimited), or cuts the link."""

    answer: ClassVar[str] = "LinkControlled"
    right: ClassVar[Right] = Right.ADMINISTER

    link: Name
    bandwidth_bytes_per_s: SignedCountBytes
    cut: bool

    def refused(self, reason: str) -> LinkControlled:
        """Answer that the link was not changed."""
        reply: LinkControlled = self.answered(self.link, problem=reason)
        return reply


class LinkControlled(Answer, frozen=True):
    """The change is in force, or was refused with a reason."""

    link: Name = ""


# -- datagrams ---------------------------------------------------------------------------------


class DatagramSocketRequest(ClientRequest, frozen=True):
    """A client asks for the broker's UDP port."""


class DatagramSocketOffer(ClientReply, frozen=True):
    """The broker's UDP port, and the secret with which the client proves its own address."""

    role: ClassVar[str] = DATAGRAMS

    port: PortNumber
    secret: Secret


class DatagramPort(BrokerMessage, frozen=True):
    """A broker's UDP port for its neighbour's datagrams, at the host of the connection."""

    port: PortNumber


class BindAddress(UdpMessage, frozen=True):
    """A client's first datagram: the broker sends the client's datagrams to its source address."""

    secret: Secret


class AddressBound(UdpMessage, frozen=True):
    """The broker has learnt the client's address."""

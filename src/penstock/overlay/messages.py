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
    Sequence,
    SignedCountBytes,
    Text,
)
from penstock.core.message import Message, Right

NAME_TAKEN: Final = "name-taken"
"""Goodbye to a broker whose name another broker has that is connected here."""


class LinkState(Message, frozen=True):
    """A broker's own account of its links and pubends.

    A later ``(incarnation, sequence)`` replaces an earlier one.  The incarnation is the instant at
    which the broker was started.
    """

    broker: Name
    incarnation: InstantLimited
    sequence: Sequence
    neighbours: Annotated[dict[Name, Cost], Meta(max_length=MOST_STREAMS)]
    pubends: Names


class Hello(Message, frozen=True):
    """The first message in each direction of every connection: who is speaking.

    ``role`` is "broker" or "client".  A broker's ``identity`` belongs to its data directory: two
    brokers of one name and different identities are not the same broker.
    """

    role: Name
    name: Name
    incarnation: InstantLimited
    software: Name
    identity: Name = ""


class Goodbye(Message, frozen=True):
    """The last message before a connection is closed on purpose, with the reason.

    ``code`` is for programs, where one has to act on the reason (``NAME_TAKEN``).
    """

    reason: Text
    code: Name = ""


class Heartbeat(Message, frozen=True):
    """Nothing but a sign of life."""


class StatusRequest(Message, frozen=True):
    """Asks a broker how it is."""


class Status(Message, frozen=True):
    """A broker's account of itself, as JSON (docs/reference/status.md)."""

    document: Document


class LinkControl(Message, frozen=True):
    """An operator changes a link while it runs: its bandwidth (0 is unlimited), or cuts it."""

    right: ClassVar[Right] = Right.ADMINISTER

    link: Name
    bandwidth_bytes_per_s: SignedCountBytes
    cut: bool


class LinkControlled(Message, frozen=True):
    """The change is in force, or was refused with a reason."""

    link: Name
    problem: Text = ""

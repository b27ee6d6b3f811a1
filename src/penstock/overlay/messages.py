"""What brokers say to each other about the overlay itself."""

from __future__ import annotations

from typing import Final

from penstock.core.message import Message

NAME_TAKEN: Final = "name-taken"
"""Goodbye to a broker whose name another broker has that is connected here."""


class LinkState(Message, frozen=True):
    """A broker's own account of its links and pubends.

    A later ``(incarnation, sequence)`` replaces an earlier one.  The incarnation is the instant at
    which the broker was started.
    """

    broker: str
    incarnation: int
    sequence: int
    neighbours: dict[str, int]
    pubends: tuple[str, ...]


class Hello(Message, frozen=True):
    """The first message in each direction of every connection: who is speaking.

    ``role`` is "broker" or "client".  A broker's ``identity`` belongs to its data directory: two
    brokers of one name and different identities are not the same broker.
    """

    role: str
    name: str
    incarnation: int
    software: str
    identity: str = ""


class Goodbye(Message, frozen=True):
    """The last message before a connection is closed on purpose, with the reason.

    ``code`` is for programs, where one has to act on the reason (``NAME_TAKEN``).
    """

    reason: str
    code: str = ""


class Heartbeat(Message, frozen=True):
    """Nothing but a sign of life."""


class StatusRequest(Message, frozen=True):
    """Asks a broker how it is."""


class Status(Message, frozen=True):
    """A broker's account of itself, as JSON (docs/reference/status.md)."""

    document: bytes


class LinkControl(Message, frozen=True):
    """An operator changes a link while it runs: its bandwidth (0 is unlimited), or cuts it."""

    link: str
    bandwidth_bytes_per_s: int
    cut: bool


class LinkControlled(Message, frozen=True):
    """The change is in force, or was refused with a reason."""

    link: str
    problem: str = ""

"""Who sent rows to a queue, and so who is to be told what became of them."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from penstock.core.intervals import Interval
from penstock.core.machine import LinkName

ROUTE: Final = "@route"
"""Sends a message to the broker that it names, by whatever link leads there (or none)."""

LETTERS: Final = "@letters"
"""Hands dead letters to another queue of the same broker, and its answer back."""

HANDOVERS: Final = "@handovers"
"""Hands rows of an alias queue to a queue of the same broker, and its answer back."""


PRODUCER: Final = "producer"
"""The kind of a client's producer among the origins of rows."""


class ClientSender(msgspec.Struct, frozen=True, gc=False):
    """A client's producer; ``via`` is the broker that passed its rows on, if one did."""

    session: LinkName
    producer: str
    queue: str
    via: str = ""

    @property
    def origin(self) -> str:
        """Its name in the table of origins."""
        return f"{PRODUCER}/{self.producer}"


class AliasSender(msgspec.Struct, frozen=True, gc=False):
    """An alias queue on some broker."""

    broker: str
    alias: str

    @property
    def origin(self) -> str:
        """Its name in the table of origins."""
        return f"alias/{self.broker}/{self.alias}"


class LetterSender(msgspec.Struct, frozen=True, gc=False):
    """A queue of the same broker that gave up on rows."""

    queue: str
    intervals: tuple[Interval, ...]

    @property
    def origin(self) -> str:
        """Its name in the table of origins."""
        return f"queue/{self.queue}"


class HandoverSender(msgspec.Struct, frozen=True, gc=False):
    """An alias queue of the same broker that handed rows over; ``low`` is its own position."""

    alias: str
    low: int

    @property
    def origin(self) -> str:
        """Its name in the journal; the table of origins does not list it."""
        return f"handover/{self.alias}"


Sender: TypeAlias = ClientSender | AliasSender | LetterSender | HandoverSender


def alias_of_handover(origin: str) -> str:
    """The alias queue of this broker that handed rows over, from the name in the journal."""
    return origin.partition("/")[2]


def alias_of_origin(origin: str) -> tuple[str, str]:
    """The broker and name of an alias queue, from its name in the table of origins."""
    _, broker, alias = origin.split("/", 2)
    return broker, alias

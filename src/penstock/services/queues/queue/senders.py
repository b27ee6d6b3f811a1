"""The senders of rows: who gets the answer when rows are durable or refused."""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

from penstock.core.intervals import Interval
from penstock.core.machine import LinkName

PRODUCER: Final = "producer"
"""The prefix of a client's producer among the origins of rows."""


class ClientSender(msgspec.Struct, frozen=True, gc=False):
    """A client's producer; ``via`` is the broker that relayed its rows, or empty."""

    session: LinkName
    producer: str
    queue: str
    via: str = ""

    @property
    def origin(self) -> str:
        """The key in the table of origins."""
        return f"{PRODUCER}/{self.producer}"


class AliasSender(msgspec.Struct, frozen=True, gc=False):
    """An alias queue, which may be on another broker."""

    broker: str
    alias: str

    @property
    def origin(self) -> str:
        """The key in the table of origins."""
        return f"alias/{self.broker}/{self.alias}"


class LetterSender(msgspec.Struct, frozen=True, gc=False):
    """A queue of the same broker that sends dead letters."""

    queue: str
    intervals: tuple[Interval, ...]

    @property
    def origin(self) -> str:
        """The key in the table of origins."""
        return f"queue/{self.queue}"


class HandoverSender(msgspec.Struct, frozen=True, gc=False):
    """An alias queue of the same broker that hands rows over; ``low`` is the first one's position
    there."""

    alias: str
    low: int

    @property
    def origin(self) -> str:
        """The name in the journal; the table of origins does not hold it."""
        return f"handover/{self.alias}"


Sender: TypeAlias = ClientSender | AliasSender | LetterSender | HandoverSender


def alias_of_handover(origin: str) -> str:
    """The name of the alias queue in ``HandoverSender.origin``."""
    return origin.partition("/")[2]


def alias_of_origin(origin: str) -> tuple[str, str]:
    """The broker and the name of the alias queue in ``AliasSender.origin``."""
    _, broker, alias = origin.split("/", 2)
    return broker, alias

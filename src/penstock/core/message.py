"""The base of everything that travels on a link, and what a message says about itself.

Messages are frozen structs that encode as MessagePack arrays with a tag.  Values that are large
and columnar (a batch, a frame) stand in fields of their own types; the wire format carries them
beside the head, as attachments, without copying them into it (``content/codec``).

A message type declares everything that the rest of the system has to know about it, so that no
other module keeps a list of message types:

1. Its **audience** is its base class: ``ClientRequest`` (client to broker), ``ClientReply`` (broker
   to client), ``BrokerMessage`` (between brokers), ``UdpMessage`` (UDP), ``LocalMessage``
   (never leaves a broker), ``LogRecord`` (written to a log).  A peer that sends a message of
   another audience breaks the protocol.
2. A request states the **right** that it needs, whether its rows go to the store, and whether it
   is cheap enough to be handled without measuring.  ``refused`` builds the answer to a request
   that a limit or a missing right stops before it reaches a machine.
3. A reply names its **addressee**: the participant of the client's session that it is for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar, Final

import msgspec

from penstock.core.limits import RequestNumber, Text

PUBLISHER: Final = "publisher"
"""The role of every participant that sends rows, to whichever service."""

REQUESTS: Final = "requests"
"""The role of the participant that asks numbered requests, to whichever service."""

QUESTIONS: Final = "questions"

DATAGRAMS: Final = "datagrams"
"""The role of the participant that speaks in datagrams beside the connection."""


class Right(Enum):
    """What a client must be allowed to do before its request is carried out."""

    USE = "use"
    ADMINISTER = "administer"
    """Change or delete what belongs to others, or how the broker runs."""


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """Base of all messages; a message type derives from one of the audiences below."""


class ConnectionMessage(Message, frozen=True):
    """Part of the connection itself (handshake, heartbeat, goodbye), in both directions."""


class ClientRequest(Message, frozen=True):
    """From a client to its broker."""

    right: ClassVar[Right] = Right.USE
    stored: ClassVar[bool] = False
    """Whether the store must take it in: such clients are not read while the store is behind."""
    quick: ClassVar[bool] = False
    """Whether handling it takes microseconds, whatever it contains."""
    windowed: ClassVar[bool] = False
    """Whether it asks for a window in its field ``window_bytes``, which the broker bounds."""

    @property
    def needed_right(self) -> Right:
        """The right that this request needs; for most types it does not depend on the fields."""
        return self.right

    def refused(self, reason: str) -> ClientReply:
        """The answer to a request that is refused before it reaches a machine."""
        raise TypeError(f"{type(self).__name__} has no answer that could refuse it: {reason}")


class RowsRequest(ClientRequest, frozen=True):
    """A request that brings rows in its field ``batch``; every type implements ``refused``."""

    quick: ClassVar[bool] = True


class Request(ClientRequest, frozen=True, kw_only=True):
    """A request with exactly one answer, which repeats its number.

    The client numbers its requests (``client/requests.py``); fields that every request or answer
    has stand behind the type's own and are given by name.
    """

    answer: ClassVar[str]
    """The name of the answer's type, in the module that defines the request."""
    repeatable: ClassVar[bool] = False
    """Whether asking twice is the same as asking once: such a request is sent again when the
    connection was lost before its answer came."""

    request: RequestNumber = 0

    def refused(self, reason: str) -> Answer:
        """Nothing was done."""
        refusal: Answer = self.answered(problem=reason)
        return refusal

    def answered(self, *values: Any, problem: str = "", uncertain: bool = False) -> Any:
        """The answer to this request; the values are those of the answer's own fields."""
        kind = getattr(sys.modules[type(self).__module__], self.answer)
        return kind(*values, request=self.request, problem=problem, uncertain=uncertain)


class ClientReply(Message, frozen=True):
    """From a broker to one of its clients."""

    role: ClassVar[str]
    """The kind of participant that the reply is for: a publisher, a subscription, a consumer."""
    named_by: ClassVar[str] = ""
    """The field that names the participant; empty where a session has one of the role."""
    to_all: ClassVar[bool] = False
    """Whether every participant of the role gets the reply."""

    def addressees(self) -> Iterable[str]:
        """Keys of the participants that may take the reply; the first one that exists gets it."""
        if not self.named_by:
            return (self.role,)
        return (participant_key(self.role, getattr(self, self.named_by)),)


class Answer(ClientReply, frozen=True, kw_only=True):
    """The answer to a ``Request``; all fields of a type's own have defaults, for refusals."""

    role: ClassVar[str] = REQUESTS

    request: RequestNumber = 0
    problem: Text = ""
    """Why the request was not carried out; empty if it was."""
    uncertain: bool = False
    """The disk failed meanwhile: whether it was carried out shows when the broker restarts."""


class BrokerMessage(Message, frozen=True):
    """From one broker to another, on a link of the overlay."""


class UdpMessage(Message, frozen=True):
    """Travels over UDP, between a client and its broker or between brokers."""


class LocalMessage(Message, frozen=True):
    """From one part of a broker to another; it never leaves the broker."""


class LogRecord(Message, frozen=True):
    """What a broker writes to one of its logs."""


def participant_key(role: str, *names: str) -> str:
    """How a client's session knows a participant."""
    return " ".join((role, *names))


AUDIENCES: tuple[type[Message], ...] = (
    ConnectionMessage,
    ClientRequest,
    ClientReply,
    BrokerMessage,
    UdpMessage,
    LocalMessage,
    LogRecord,
)


def messages_in(module: ModuleType) -> tuple[type[Message], ...]:
    """The message types that a module defines, in the order in which they are written there.

    A type that is only the base of others (it has subclasses in the module) does not travel.
    """
    found = [each for each in vars(module).values() if _is_defined_in(module, each)]
    bases = {base for each in found for base in each.__mro__[1:]}
    return tuple(each for each in found if each not in bases)


def _is_defined_in(module: ModuleType, value: Any) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Message)
        and value.__module__ == module.__name__
    )

"""Everything that can go wrong for a client.

Each error names the thing, where it happened and what to do about it, and carries the same facts
as attributes for programs.
"""

from __future__ import annotations

from penstock.content.rows.columns import InvalidAttribute
from penstock.core.intervals import Tick

__all__ = [
    "AnswerLost",
    "ConnectionFailed",
    "DataLoss",
    "DeadlineExceeded",
    "Disconnected",
    "InvalidAddress",
    "InvalidAttribute",
    "LimitExceeded",
    "MessageTooLarge",
    "OutcomeUncertain",
    "PenstockError",
    "ProtocolViolation",
    "PublishRefusedError",
    "PublishUncertain",
    "PublisherTakenOver",
    "SubscribeRefusedError",
    "UnsubscribeFailed",
]


class PenstockError(Exception):
    """The base of all errors that this library raises on its own account."""


class InvalidAddress(PenstockError, ValueError):
    """An address that does not name a broker."""


class LimitExceeded(PenstockError, ValueError):
    """A name, a selector or a number that the protocol does not carry; nothing was sent."""


class ConnectionFailed(PenstockError, ConnectionError):
    """No broker could be reached, or none accepted the connection."""


class Disconnected(PenstockError, ConnectionError):
    """The connection, the client or what it made has ended; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        """``reason`` is a whole sentence for people."""
        super().__init__(reason)
        self.reason = reason


class AnswerLost(Disconnected):
    """The connection broke before the broker answered; the client connects anew."""


class ProtocolViolation(PenstockError):
    """The broker said something that contradicts what it said before."""


class DeadlineExceeded(PenstockError, TimeoutError):
    """Something did not happen in time; the message says what was waited for, and why.

    ``accepted`` is True if the client still holds what was to be published and goes on sending it,
    so that it may yet be stored; False if nothing will come of the call.
    """

    def __init__(self, what: str, *, accepted: bool = False) -> None:
        """``what`` is a whole sentence for people."""
        super().__init__(what)
        self.accepted = accepted


class MessageTooLarge(PenstockError, ValueError):
    """A single message that is larger than the client is configured to send."""


class PublishRefusedError(PenstockError):
    """The broker stored none of these messages, and said why."""

    def __init__(self, pubend: str, first_sequence: int, count: int, reason: str) -> None:
        """The messages are numbered from ``first_sequence``; -1 if they never got a number."""
        where = f"pubend {pubend!r}" if pubend else "the broker"
        super().__init__(f"{where} refused {count} message(s): {reason}")
        self.pubend = pubend
        self.first_sequence = first_sequence
        self.count = count
        self.reason = reason


class PublisherTakenOver(PublishRefusedError):
    """Another publisher of the same name was opened later, and has its place.

    Nothing of these messages was stored.  Only one publisher may use a name at a time, because the
    broker recognises repeated messages by it.
    """


class OutcomeUncertain(PenstockError):
    """Whether the broker did what was asked of it cannot be found out at present.

    Its disk failed meanwhile.  It shows when the broker is started again.
    """


class PublishUncertain(OutcomeUncertain):
    """Whether these messages are stored cannot be found out any more.

    They were sent, the connection broke before a receipt came, and the client cannot ask again: it
    was closed, or the broker that it reached next does not host their pubend.  Or the broker's disk
    failed while it stored them: then they are there or not when the broker is started again.
    """

    def __init__(self, pubend: str, first_sequence: int, count: int, reason: str) -> None:
        """The messages are numbered from ``first_sequence``."""
        super().__init__(
            f"{count} message(s) from sequence {first_sequence} may or may not be stored in "
            f"pubend {pubend!r}: {reason}; publish them again only if a repetition does no harm"
        )
        self.pubend = pubend
        self.first_sequence = first_sequence
        self.count = count
        self.reason = reason


class SubscribeRefusedError(PenstockError):
    """The broker did not make the subscription, and said why."""

    def __init__(self, subscription: str, reason: str, *, uncertain: bool = False) -> None:
        """``subscription`` is its name: the durable one, or one that the client made up.

        ``uncertain``: it may exist all the same when the broker is started again.
        """
        exists = "; it may exist when the broker is started again" if uncertain else ""
        super().__init__(f"subscription {subscription!r} was refused: {reason}{exists}")
        self.subscription = subscription
        self.reason = reason
        self.uncertain = uncertain


class UnsubscribeFailed(PenstockError):
    """The broker could not delete a durable subscription, which therefore exists still.

    Unless it is ``uncertain``: then it exists or not when the broker is started again.
    """

    def __init__(self, subscription: str, reason: str, *, uncertain: bool = False) -> None:
        """``reason`` is the broker's text."""
        super().__init__(f"subscription {subscription!r}: {reason}; delete it again later")
        self.subscription = subscription
        self.reason = reason
        self.uncertain = uncertain


class DataLoss(PenstockError):
    """Messages of this interval that the subscription asked for are no longer kept, or damaged.

    The subscription stands behind the interval: iterating again goes on with what follows.
    """

    def __init__(self, subscription: str, pubend: str, low: Tick, high: Tick) -> None:
        """The interval is half-open: ``low <= tick < high``."""
        super().__init__(
            f"subscription {subscription!r}: pubend {pubend!r} no longer keeps the ticks "
            f"[{low}, {high}): they were trimmed or damaged, and what matched there is lost. "
            "Iterate again to go on behind them, "
            'or subscribe with on_loss="skip"'
        )
        self.subscription = subscription
        self.pubend = pubend
        self.low = low
        self.high = high

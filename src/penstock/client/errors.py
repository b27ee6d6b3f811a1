"""The errors that the client library raises.

Each message names the object, the place and the remedy; the error carries the same facts as
attributes for programs.
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
    """The base class of all errors of this library."""


class InvalidAddress(PenstockError, ValueError):
    """An address that does not name a broker."""


class LimitExceeded(PenstockError, ValueError):
    """A name, a selector or a number exceeds a limit of the protocol; nothing was sent."""


class ConnectionFailed(PenstockError, ConnectionError):
    """No broker could be reached, or none accepted the connection."""


class Disconnected(PenstockError, ConnectionError):
    """The connection, the client or one of its participants has ended; ``reason`` says why."""

    def __init__(self, reason: str) -> None:
        """``reason`` is a whole sentence for people."""
        super().__init__(reason)
        self.reason = reason


class AnswerLost(Disconnected):
    """The connection broke before the broker answered; the client reconnects."""


class ProtocolViolation(PenstockError):
    """The broker sent a message that contradicts its earlier messages."""


class DeadlineExceeded(PenstockError, TimeoutError):
    """An operation did not complete in time; the message names the operation and the cause.

    ``accepted`` is True if the client still holds the messages and continues to send them, so that
    they may yet be stored; False if the call has no further effect.
    """

    def __init__(self, what: str, *, accepted: bool = False) -> None:
        """``what`` is a whole sentence for people."""
        super().__init__(what)
        self.accepted = accepted


class MessageTooLarge(PenstockError, ValueError):
    """A single message that is larger than the client is configured to send."""


class PublishRefusedError(PenstockError):
    """The broker stored none of these messages; ``reason`` says why."""

    def __init__(self, pubend: str, first_sequence: int, count: int, reason: str) -> None:
        """The messages are numbered from ``first_sequence``; -1 if they never got a number."""
        where = f"pubend {pubend!r}" if pubend else "the broker"
        super().__init__(f"{where} refused {count} message(s): {reason}")
        self.pubend = pubend
        self.first_sequence = first_sequence
        self.count = count
        self.reason = reason


class PublisherTakenOver(PublishRefusedError):
    """Another publisher of the same name was opened later and has replaced this one.

    None of these messages was stored.  Only one publisher may use a name at a time, because the
    broker recognises repeated messages by it.
    """


class OutcomeUncertain(PenstockError):
    """It is unknown at present whether the broker carried out the request.

    Its disk failed during the request.  A restart of the broker shows the outcome.
    """


class PublishUncertain(OutcomeUncertain):
    """It is unknown whether these messages are stored.

    They were sent, the connection broke before a receipt came, and the client cannot ask again: it
    was closed, or the broker that it reached next does not host their pubend.  Or the broker's disk
    failed while it stored them: then a restart of the broker shows whether they are stored.
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
    """The broker refused the subscription; ``reason`` says why."""

    def __init__(self, subscription: str, reason: str, *, uncertain: bool = False) -> None:
        """``subscription`` is its durable name, or the name that the client generated.

        ``uncertain``: it may exist nevertheless after a restart of the broker.
        """
        exists = "; it may exist when the broker is started again" if uncertain else ""
        super().__init__(f"subscription {subscription!r} was refused: {reason}{exists}")
        self.subscription = subscription
        self.reason = reason
        self.uncertain = uncertain


class UnsubscribeFailed(PenstockError):
    """The broker could not delete a durable subscription, which therefore still exists.

    If ``uncertain``, only a restart of the broker shows whether it exists.
    """

    def __init__(self, subscription: str, reason: str, *, uncertain: bool = False) -> None:
        """``reason`` is the broker's text."""
        super().__init__(f"subscription {subscription!r}: {reason}; delete it again later")
        self.subscription = subscription
        self.reason = reason
        self.uncertain = uncertain


class DataLoss(PenstockError):
    """Messages of this interval that the subscription requested are no longer kept, or damaged.

    The subscription's position is after the interval: iterating again continues from there.
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

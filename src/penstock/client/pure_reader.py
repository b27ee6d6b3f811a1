"""What the reading halves of all services share: a life cycle and the error that ended it.

A pure reader does no input or output.  ``ReaderDriver`` moves it on a session's connection.
"""

from __future__ import annotations

from typing import Any

from penstock.client.errors import PenstockError
from penstock.client.life_cycle import READER, ReaderEvent, ReaderPhase
from penstock.core.clock import Instant
from penstock.core.message import Message


class PureReader:
    """Base of subscriptions, consumers and members."""

    def __init__(self) -> None:
        """Without a connection."""
        self.phase = ReaderPhase.AWAY
        self.error: PenstockError | None = None
        """What ended it, unless the application closed it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come: it was closed or refused, or has failed."""
        return self.phase is ReaderPhase.OVER

    def close(self) -> None:
        """Receive no more, and announce it to the broker."""
        self._happens(ReaderEvent.CLOSED)

    def fail(self, error: PenstockError, event: ReaderEvent = ReaderEvent.ENDED) -> None:
        """End it with an error."""
        self._happens(event)
        self.error = error

    # -- the connection's side --------------------------------------------------------------

    def connected(self) -> None:
        """A connection begins."""
        self._happens(ReaderEvent.CONNECTED)

    def disconnected(self, reason: str = "", *, taken_over: str = "") -> None:
        """The connection has ended.

        ``taken_over`` is the subscription that another connection has taken over, if that is why.
        """
        self._happens(ReaderEvent.DISCONNECTED)

    def outgoing(self, now: Instant = 0) -> list[Message]:
        """What to send now, in order."""
        raise NotImplementedError

    def next_deadline(self) -> Instant | None:
        """When to ask for ``outgoing`` again, if nothing happens before."""
        return None

    def received(self, message: Any) -> None:
        """Handle a message of the broker."""
        raise NotImplementedError

    def _happens(self, event: ReaderEvent) -> None:
        self.phase = READER.after(self.phase, event)

"""Moves a pure reader on a session's connection, and wakes the application that waits for it.

The driver is the session's participant.  It leaves the session when the reader is over: nothing
more comes for it, and its key may be used again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.client.errors import PenstockError
from penstock.client.pure_reader import PureReader
from penstock.client.session import Session
from penstock.core.clock import Instant
from penstock.core.message import Message
from penstock.services.guaranteed.edge.subscription import TAKEN_OVER


class ReaderDriver:
    """One participant of a session."""

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(
        self,
        session: Session,
        key: str,
        reader: PureReader,
        close: Callable[..., Awaitable[None]],
    ) -> None:
        """``close`` is called with ``deadline_s`` when the client is closed."""
        self._session = session
        self._key = key
        self._reader = reader
        self._close = close
        self._changed = asyncio.Event()
        self._joined = False

    def join(self) -> None:
        """Share the session's connection; raises ``ValueError`` if the key is taken."""
        self._session.join(self._key, self)
        self._joined = True
        self.note_change()

    def wake(self) -> None:
        """Send what the reader has to say at the end of this turn of the event loop."""
        self._session.wake(self._key)

    def send_now(self) -> None:
        """Send what the reader has to say before this call returns."""
        self._session.send_now(self._key)

    async def wait(self) -> None:
        """Wait until something has changed; several callers may wait at once."""
        self._changed.clear()
        await self._changed.wait()

    def note_change(self) -> None:
        """Wake everyone who waits; leave the session if the reader is over."""
        if self._joined and self._reader.is_over:
            self._joined = False
            self._session.say(self._reader.outgoing(0))
            self._session.leave(self._key)
        self._changed.set()

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """A connection begins."""
        self._reader.connected()

    def disconnected(self, reason: str) -> None:
        """The connection has ended."""
        code, subject = self._session.farewell
        self._reader.disconnected(reason, taken_over=subject if code == TAKEN_OVER else "")
        self.note_change()

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now."""
        return self._reader.outgoing(now)

    def next_deadline(self) -> Instant | None:
        """When to ask again."""
        return self._reader.next_deadline()

    def received(self, message: Any) -> None:
        """A message of the broker."""
        self._reader.received(message)
        self.note_change()

    def ended(self, error: PenstockError) -> None:
        """The session has given up, or the client was closed."""
        if not self._reader.is_over:
            self._reader.fail(error)
        self.note_change()

    async def farewell(self, deadline_s: float | None) -> None:
        """The client is being closed."""
        await self._close(deadline_s=deadline_s)

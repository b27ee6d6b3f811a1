"""What everybody who reads from a broker shares: a pure reader on the session's connection, and an
application that waits for it to change."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from penstock.client.errors import PenstockError
from penstock.core.clock import Instant
from penstock.core.message import Message


class PureReader(Protocol):
    """The reading half of a protocol, without input or output."""

    def connected(self) -> None:
        """A broker is there."""

    def disconnected(self) -> None:
        """The connection is gone."""

    def outgoing(self) -> list[Message]:
        """What to send now."""

    def received(self, message: Any) -> None:
        """The broker speaks."""


class Reading:
    """A participant of the session that drives a reader."""

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(self, reader: PureReader) -> None:
        """Nothing has changed yet."""
        self._driven = reader
        self._changed = asyncio.Event()
        self._end: PenstockError | None = None

    def connected(self) -> None:
        """A connection begins."""
        self._driven.connected()

    def disconnected(self, reason: str) -> None:
        """What came over the connection may not count any more."""
        self._driven.disconnected()
        self._changed.set()

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now."""
        return self._driven.outgoing()

    def next_deadline(self) -> Instant | None:
        """Nothing here happens by time alone."""
        return None

    def received(self, message: Message) -> None:
        """The broker speaks."""
        self._driven.received(message)
        self._changed.set()

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        self._end = error
        self._changed.set()

    async def _wait(self) -> None:
        """Until something has changed; several may wait at once."""
        self._changed.clear()
        await self._changed.wait()

"""A sender's window of unconfirmed messages.

``ConfirmedSender`` is shared by the raw clients of all peers: it sends bursts of messages as long
as the window has space, while a separate task reads the confirmations.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from benchmarks.peers.wire import Wire

UNCONFIRMED: Final = 4096
"""Messages in flight; more do not help with any peer."""


class Window:
    """Counts the messages in flight; senders wait for space or for the end."""

    def __init__(self, limit: int = UNCONFIRMED) -> None:
        """At most ``limit`` are in flight, or one burst if that is larger."""
        self._limit = limit
        self._under_way = 0
        self._changed = asyncio.Event()
        self._failure: Exception | None = None

    async def enter(self, count: int) -> None:
        """Wait until ``count`` more messages may be in flight."""
        await self._wait_below(max(self._limit - count, 0))
        self._under_way += count

    def leave(self, count: int) -> None:
        """``count`` messages were confirmed."""
        self._under_way -= count
        self._changed.set()

    def fail(self, error: Exception) -> None:
        """No more confirmations will arrive."""
        self._failure = error
        self._changed.set()

    async def empty(self) -> None:
        """Wait until everything is confirmed."""
        await self._wait_below(0)

    async def _wait_below(self, most: int) -> None:
        while self._under_way > most:
            if self._failure is not None:
                raise self._failure
            self._changed.clear()
            await self._changed.wait()


class MarkCounter:
    """Counts a mark in a stream of bytes that arrives in pieces."""

    def __init__(self, mark: bytes) -> None:
        """``mark`` occurs once in every confirmation, and nowhere else."""
        self._mark = mark
        self._end = b""

    def count(self, data: bytes) -> int:
        """The number of marks that end in this piece."""
        data = self._end + data
        # Too short for a complete mark, so that none is counted twice.
        self._end = data[max(0, len(data) - len(self._mark) + 1) :]
        return data.count(self._mark)


class ConfirmedSender(ABC):
    """Sends bursts over a wire and reads their confirmations; an ``async with`` block."""

    def __init__(self, wire: Wire) -> None:
        """The wire is closed at the end of the block."""
        self.wire = wire
        self.window = Window()
        self._reading: asyncio.Task[None] | None = None

    @abstractmethod
    def encode(self, payloads: list[bytes]) -> Any:
        """A burst that can be sent repeatedly."""

    @abstractmethod
    def confirmations(self, data: bytes) -> int:
        """The number of messages that this piece of the server's answers confirms."""

    async def send(self, burst: Any, count: int) -> None:
        """Send a burst of ``count`` messages as soon as the window has space."""
        await self.window.enter(count)
        await self.wire.send(burst)

    async def settle(self) -> None:
        """Wait until everything is confirmed."""
        await self.window.empty()

    async def __aenter__(self) -> Self:
        """Start reading confirmations."""
        self._reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop reading, and disconnect."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading
        self.wire.close()

    async def _read(self) -> None:
        try:
            while True:
                self.window.leave(self.confirmations(await self.wire.some()))
        except (OSError, RuntimeError, ValueError) as error:
            self.window.fail(error)

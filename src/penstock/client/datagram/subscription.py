"""What arrives on one subscription to the datagram service."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from penstock.client.closable import Closable
from penstock.client.errors import DeadlineExceeded, Disconnected, PenstockError
from penstock.client.guaranteed.waiting_readers import WaitingReaders
from penstock.client.waiting import deadline
from penstock.core.clock import Instant, in_seconds
from penstock.services.datagram.messages import Attribute

UNREAD_MESSAGES: Final = 10_000
"""What an application may leave unread; beyond that the oldest is dropped and counted."""


class DatagramMessage(msgspec.Struct, frozen=True, gc=False):
    """One message; ``sequence`` counts everything that its publisher has published."""

    publisher: str
    sequence: int
    sent_at: Instant
    attributes: dict[str, Attribute]
    payload: bytes

    @property
    def time(self) -> datetime:
        """When it was sent, by the publisher's clock."""
        return datetime.fromtimestamp(in_seconds(self.sent_at), UTC)

    def __getitem__(self, name: str) -> Attribute:
        """An attribute; raises ``KeyError``."""
        return self.attributes[name]


class DatagramSubscription(Closable):
    """A subscription, from the moment it is in force until it is closed."""

    selector: str
    missed: int
    """Messages that were dropped because they were not read in time."""

    def __init__(
        self,
        selector: str,
        in_force: asyncio.Future[None],
        close: Callable[[], Awaitable[None]],
        unread_messages: int,
        deadline_s: float,
    ) -> None:
        """Made by ``Datagrams.subscribe``."""
        self.selector = selector
        self.missed = 0
        self._in_force = in_force
        self._close = close
        self._unread: deque[DatagramMessage] = deque()
        self._unread_limit = unread_messages
        self._deadline_s = deadline_s
        self._loop = asyncio.get_running_loop()
        self._readers = WaitingReaders(self._loop)
        self._ended: PenstockError | None = None

    async def _enter(self) -> None:
        await self.open()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has taken the subscription."""
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        async with deadline(limit_s, lambda: f"subscription {self.selector!r} is not in force"):
            await asyncio.shield(self._in_force)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """End it without waiting; what is unread can still be read."""
        if self._ended is None:
            self._end(Disconnected(f"subscription {self.selector!r} is closed"))
            await self._close()

    async def next(self, *, deadline_s: float = math.inf) -> DatagramMessage:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        if not self._unread:
            await self._wait(deadline_s)
        return self._unread.popleft()

    async def next_batch(self, *, deadline_s: float = math.inf) -> list[DatagramMessage]:
        """All unread messages, at least one; raises ``DeadlineExceeded``."""
        if not self._unread:
            await self._wait(deadline_s)
        batch = list(self._unread)
        self._unread.clear()
        return batch

    async def _wait(self, deadline_s: float) -> None:
        """Until something is unread; raises ``DeadlineExceeded``."""
        until_s = self._loop.time() + deadline_s
        while not self._unread:
            if self._ended is not None:
                raise self._ended
            if not await self._readers.wait(until_s):
                raise DeadlineExceeded(
                    f"after {deadline_s:g} s: no message of {self.selector!r} came"
                )

    async def __aiter__(self) -> AsyncIterator[DatagramMessage]:
        """The messages, until the subscription is closed."""
        while True:
            try:
                yield await self.next()
            except Disconnected:
                return

    def _deliver(self, messages: Sequence[DatagramMessage]) -> None:
        self._unread.extend(messages)
        while len(self._unread) > self._unread_limit:
            self._unread.popleft()
            self.missed += 1
        self._readers.wake()

    def _end(self, error: PenstockError) -> None:
        self._ended = error
        self._readers.wake()

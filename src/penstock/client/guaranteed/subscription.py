"""Subscribing, as the application sees it.

``async with client.subscribe(...) as subscription`` makes the subscription before the block begins
and ends it with the block.  ``async for message in client.subscribe(...)`` does the same around the
loop.  Messages come one by one, or as the batches in which they arrived.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Iterator, Mapping
from types import TracebackType
from typing import Any, Final

from penstock.client.errors import DataLoss, Disconnected, PenstockError
from penstock.client.guaranteed.acknowledgement import Piece
from penstock.client.guaranteed.message import Acknowledge, Message, MessageBatch
from penstock.client.guaranteed.reader import Reader, ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.client.life_cycle import ReaderPhase
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.core.clock import Instant, in_seconds
from penstock.core.clock_skew import span
from penstock.core.intervals import Interval, Tick
from penstock.core.message import Message as WireMessage
from penstock.core.message import participant_key
from penstock.services.guaranteed.edge.subscription import TAKEN_OVER
from penstock.services.guaranteed.messages import SUBSCRIPTION

logger = logging.getLogger(__name__)

BATCHES_AT_ONCE: Final = 64
"""What is taken in one asking at most; the window bounds its bytes."""


class Subscription:
    """One subscription.  Made by ``Client.subscribe``."""

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(
        self,
        session: Session,
        name: str,
        selector: str,
        start: Start,
        options: ReaderOptions,
        *,
        deadline_s: float,
    ) -> None:
        """``deadline_s`` holds for opening and closing."""
        self._session = session
        self._deadline_s = deadline_s
        self._reader = Reader(name, selector, start, options)
        self._reader.acknowledge_through = self.acknowledge
        self._key = participant_key(SUBSCRIPTION, name)
        self._rows: Iterator[Message] = iter(())
        self._changed = asyncio.Event()
        self._joined = False
        self._abandoned = False
        self._loss: DataLoss | None = None

    @property
    def name(self) -> str:
        """The durable name, or one that the client made up."""
        return self._reader.name

    @property
    def positions(self) -> dict[str, Tick]:
        """For each pubend the end of what the application is done with.

        A subscription that starts at these positions goes on exactly there.
        """
        return self._reader.positions()

    @property
    def lost(self) -> Mapping[str, list[Interval]]:
        """The intervals that were lost, for each pubend."""
        return {pubend: list(intervals) for pubend, intervals in self._reader.lost.items()}

    @property
    def ahead_s(self) -> Mapping[str, float]:
        """The pubends whose streams are far ahead of the broker's clock, and by how many seconds.

        The time of a message means nothing there, nor does a time to start from.
        """
        return {pubend: in_seconds(ahead) for pubend, ahead in self._reader.ahead_ns.items()}

    @property
    def unacknowledged(self) -> int:
        """How many messages were handed out and are not done."""
        return self._reader.unfinished

    # -- opening and closing ----------------------------------------------------------------

    async def __aenter__(self) -> Subscription:
        """Make the subscription: whatever is published from now on is delivered."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End it."""
        await self.close()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the subscription is in force."""
        if self._session.failure is not None:
            raise self._session.failure.with_traceback(None)
        if not self._joined:
            self._session.join(self._key, self)
            self._joined = True
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        try:
            async with deadline(limit_s, lambda: self._describe("it is not in force")):
                while self._reader.phase is not ReaderPhase.OPEN and not self._reader.is_over:
                    await self._wait()
            self._raise_error()
            self._say_if_ahead()
        except BaseException:
            self._abandon()
            raise

    def _say_if_ahead(self) -> None:
        for pubend, ahead_ns in self._reader.ahead_ns.items():
            logger.warning(
                "subscription %r: pubend %r is ahead of its broker's clock by %s; times mean "
                "nothing there, and a start at a time gets messages that were published before it",
                self.name,
                pubend,
                span(ahead_ns),
            )

    async def close(self, *, forget: bool = False, deadline_s: float | None = None) -> None:
        """Tell the broker what was acknowledged, and end the subscription.

        ``forget`` deletes a durable subscription; otherwise it goes on collecting.
        """
        if self._session.failure is not None or self._abandoned or not (self._joined or forget):
            return
        self._abandon(forget=forget)
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        async with deadline(limit_s, lambda: self._describe("its end was not confirmed")):
            while not self._reader.is_over:
                await self._wait()
        if forget:
            self._raise_error()

    def _abandon(self, *, forget: bool = False) -> None:
        """Tell the broker; the session is left when it has answered."""
        self._abandoned = True
        self._reader.close(forget=forget)
        if not self._joined:
            self._session.join(self._key, self)
            self._joined = True
        self._session.wake(self._key)
        self._note_change()

    def _note_change(self) -> None:
        if self._abandoned and self._reader.is_over:
            self._session.leave(self._key)
        self._changed.set()

    # -- reading ----------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[Message]:
        """The messages, until the subscription is closed."""
        return self.messages()

    async def messages(self, *, deadline_s: float = math.inf) -> AsyncIterator[Message]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long.

        Unless acknowledgement is explicit, asking for the next message acknowledges this one.
        """
        opened_here = await self._open_if_needed()
        try:
            while True:
                for message in self._rows:
                    yield message
                batch = await self.wait_batch(deadline_s)
                if batch is None:
                    return
                self._rows = self.rows_of(batch)
        finally:
            if opened_here:
                await self.close()

    async def batches(self, *, deadline_s: float = math.inf) -> AsyncIterator[MessageBatch]:
        """The messages as they arrived together, until the subscription is closed.

        Unless acknowledgement is explicit, asking for the next batch acknowledges this one.
        """
        opened_here = await self._open_if_needed()
        try:
            while (batch := await self.wait_batch(deadline_s)) is not None:
                yield batch
        finally:
            if opened_here:
                await self.close()

    async def next(self, *, deadline_s: float = math.inf) -> Message:
        """The next message; raises ``DeadlineExceeded`` if none comes in time."""
        for message in self._rows:
            return message
        batch = await self.next_batch(deadline_s=deadline_s)
        self._rows = self.rows_of(batch)
        return next(self._rows)

    async def next_batch(self, *, deadline_s: float = math.inf) -> MessageBatch:
        """The next messages that arrived together; ``DeadlineExceeded`` if none come in time."""
        await self._open_if_needed()
        batch = await self.wait_batch(deadline_s)
        if batch is None:
            raise Disconnected(f"subscription {self.name!r} is closed")
        return batch

    async def wait_batch(self, deadline_s: float) -> MessageBatch | None:
        """The next batch, or None once the subscription is closed."""
        # One turn of the loop for each batch lets the connection work while the application does.
        await asyncio.sleep(0)
        batch = self._take()
        if batch is not None or self._reader.is_over:
            return batch
        async with deadline(deadline_s, lambda: self._describe("no message came")):
            while batch is None and not self._reader.is_over:
                self._warn_if_held_back()
                await self._wait()
                batch = self._take()
        return batch

    async def wait_batches(self, deadline_s: float) -> list[MessageBatch]:
        """The next batch and those that have arrived behind it; none once it is over.

        For readers that are done with everything that they take, and that pay for every asking.
        """
        loss, self._loss = self._loss, None
        if loss is not None:
            raise loss
        batch = await self.wait_batch(deadline_s)
        batches: list[MessageBatch] = []
        try:
            while batch is not None:
                batches.append(batch)
                batch = self._take() if len(batches) < BATCHES_AT_ONCE else None
        except DataLoss as found:
            # It stands behind what was taken already, and is told with the next asking.
            self._loss = found
        return batches

    @property
    def has_end(self) -> bool:
        """Whether it reads an interval, and so has no position to keep."""
        return self._reader.has_end

    def rows_of(self, batch: MessageBatch) -> Iterator[Message]:
        """The messages of the batch that was taken last, with account of which are done."""
        return self._reader.rows_of(batch)

    def _take(self) -> MessageBatch | None:
        taken = self._reader.take()
        self._session.wake(self._key)
        if isinstance(taken, DataLoss):
            raise taken
        if taken is None and self._reader.is_over:
            self._raise_error()
        return taken

    async def _open_if_needed(self) -> bool:
        if self._joined:
            return False
        await self.open()
        return True

    def _warn_if_held_back(self) -> None:
        if self._reader.is_held_back:
            logger.warning(
                "subscription %r waits: %d messages are unacknowledged (max_unacknowledged)",
                self.name,
                self._reader.unfinished,
            )

    def acknowledge_through(self, acknowledge: Acknowledge) -> None:
        """Have messages acknowledge in another way than from the event loop's own thread."""
        self._reader.acknowledge_through = acknowledge

    def acknowledge(self, piece: Piece, row: int | None) -> None:
        """What a message's ``ack`` calls: the application is done with a row, or with all."""
        was_held_back = self._reader.is_held_back
        self._reader.acknowledge(piece, row)
        self._session.wake(self._key)
        if was_held_back:
            self._note_change()

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """A connection begins."""
        self._reader.connected()

    def disconnected(self, reason: str) -> None:
        """The connection has ended."""
        code, subject = self._session.farewell
        self._reader.disconnected(reason, taken_over=subject if code == TAKEN_OVER else "")
        self._note_change()

    def outgoing(self, now: Instant, room_bytes: int) -> list[WireMessage]:
        """What to send now: all of it is small and urgent, whatever room there is."""
        return self._reader.outgoing(now)

    def next_deadline(self) -> Instant | None:
        """When to ask again."""
        return self._reader.next_deadline()

    def received(self, message: Any) -> None:
        """An answer or a delivery."""
        self._reader.received(message)
        self._note_change()

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        if not self._reader.is_over:
            self._reader.fail(error)
        self._note_change()

    async def farewell(self, deadline_s: float | None) -> None:
        """Tell the broker what was acknowledged."""
        await self.close(deadline_s=deadline_s)

    # -- inside -----------------------------------------------------------------------------

    async def _wait(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    def _raise_error(self) -> None:
        if self._reader.error is not None:
            raise self._reader.error.with_traceback(None)

    def _describe(self, what: str) -> str:
        return f"subscription {self.name!r}: {what}; {self._session.describe()}"

"""Subscribing, as the application sees it.

``async with client.subscribe(...) as subscription`` makes the subscription before the block begins
and ends it with the block.  ``async for message in client.subscribe(...)`` does the same around the
loop.  Messages come one by one, or as the batches in which they arrived.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar, Final

from penstock.client.calling import Caller
from penstock.client.errors import DataLoss
from penstock.client.guaranteed.acknowledgement import Piece
from penstock.client.guaranteed.message import Message, MessageBatch
from penstock.client.guaranteed.reader import Reader, ReaderOptions
from penstock.client.guaranteed.start import Start
from penstock.client.reading import Reading
from penstock.client.session import Session
from penstock.core.clock import in_seconds
from penstock.core.clock_skew import span
from penstock.core.intervals import Interval, Tick
from penstock.core.message import participant_key
from penstock.services.guaranteed.messages import SUBSCRIPTION

logger = logging.getLogger(__name__)

BATCHES_AT_ONCE: Final = 64
"""Batches that cross to another thread together at most; the window bounds their bytes."""


class Subscription(Reading[MessageBatch, Message]):
    """One subscription.  Made by ``Client.subscribe``.

    Unless acknowledgement is explicit, asking for the next message or batch acknowledges the one
    before.
    """

    _closes_after_loop: ClassVar[bool] = True
    _unopened: ClassVar[str] = "it is not in force"

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
        self._reader = Reader(name, selector, start, options)
        key = participant_key(SUBSCRIPTION, name)
        what = f"subscription {name!r}"
        super().__init__(session, key, self._reader, what=what, deadline_s=deadline_s)
        self._reader.acknowledge_through = self._acknowledge
        self._loss: DataLoss | None = None

    @property
    def name(self) -> str:
        """The durable name, or one that the client made up."""
        return self._reader.name

    @property
    def positions(self) -> dict[str, Tick]:
        """For each pubend the end of what the application is done with.

        A subscription that starts at these positions continues exactly there.
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
        """How many messages were handed out and are not acknowledged."""
        return self._reader.unfinished

    # -- opening and closing ----------------------------------------------------------------

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the subscription is in force: what is published from then on is delivered."""
        try:
            await super().open(deadline_s=deadline_s)
        except BaseException:
            self._closed = True
            self._reader.close()
            self._driver.wake()
            self._driver.note_change()
            raise
        self._warn_if_ahead()

    async def close(self, *, forget: bool = False, deadline_s: float | None = None) -> None:
        """Tell the broker what was acknowledged, and end the subscription.

        ``forget`` deletes a durable subscription; otherwise it goes on collecting.
        """
        if not forget:
            await super().close(deadline_s=deadline_s)
            return
        if self._closed or self._session.failure is not None:
            return
        # The broker must hear of the deletion even if the subscription was never opened.
        self._reader.close(forget=True)
        self._join()
        self._closed = True
        self._driver.wake()
        await self._wait_until_over(deadline_s)
        if self._reader.error is not None:
            raise self._reader.error.with_traceback(None)

    def _warn_if_ahead(self) -> None:
        for pubend, ahead_ns in self._reader.ahead_ns.items():
            logger.warning(
                "subscription %r: pubend %r is ahead of its broker's clock by %s; times mean "
                "nothing there, and a start at a time gets messages that were published before it",
                self.name,
                pubend,
                span(ahead_ns),
            )

    # -- reading ----------------------------------------------------------------------------

    async def next_batch(self, *, deadline_s: float = math.inf) -> MessageBatch:
        """The next messages that arrived together; ``DeadlineExceeded`` if none come in time."""
        batch = await super().next_batch(deadline_s=deadline_s)
        if batch is None:
            raise self._closed_error()
        return batch

    async def _wait_batch(self, deadline_s: float) -> MessageBatch | None:
        # One turn of the loop for each batch lets the connection work while the application does.
        await asyncio.sleep(0)
        return await super()._wait_batch(deadline_s)

    async def _wait_batches(self, deadline_s: float) -> list[MessageBatch]:
        """For an interval, the batches behind the next one too: nothing of it is acknowledged."""
        if not self._reader.has_end:
            return await super()._wait_batches(deadline_s)
        loss, self._loss = self._loss, None
        if loss is not None:
            raise loss
        batch = await self._wait_batch(deadline_s)
        batches: list[MessageBatch] = []
        try:
            while batch is not None:
                batches.append(batch)
                batch = self._take() if len(batches) < BATCHES_AT_ONCE else None
        except DataLoss as found:
            # It stands behind what was taken already, and is raised by the next call.
            self._loss = found
        return batches

    def _rows_of(self, batch: MessageBatch) -> Iterator[Message]:
        return self._reader.rows_of(batch)

    def _take(self) -> MessageBatch | None:
        taken = self._reader.take()
        self._driver.wake()
        if isinstance(taken, DataLoss):
            raise taken
        return taken

    def _before_waiting(self) -> None:
        if self._reader.is_held_back:
            logger.warning(
                "subscription %r waits: %d messages are unacknowledged (max_unacknowledged)",
                self.name,
                self._reader.unfinished,
            )

    # -- acknowledging ----------------------------------------------------------------------

    def _called_from(self, caller: Caller) -> None:
        super()._called_from(caller)
        self._reader.acknowledge_through = partial(caller.post, self._acknowledge)

    def _acknowledge(self, piece: Piece, row: int | None) -> None:
        """What a message's ``ack`` calls, with its row or with None for the whole batch."""
        was_held_back = self._reader.is_held_back
        self._reader.acknowledge(piece, row)
        self._driver.wake()
        if was_held_back:
            self._driver.note_change()

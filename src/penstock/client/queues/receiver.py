"""A consumer of a queue, as the application sees it.

A message that was received is the consumer's until it is settled or the connection is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from penstock.client.calling import Caller
from penstock.client.queues.message import QueueBatch, QueueMessage, SettleRows
from penstock.client.queues.reader import Outcome, QueueReader
from penstock.client.reading import Reading
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.core.message import participant_key
from penstock.services.queues.messages import CONSUMER


class Receiver(Reading[QueueBatch, QueueMessage]):
    """One consumer; iterate over it, or use it in an ``async with`` block.

    Closing it tells the broker what was settled; what was not settled returns to the queue.
    """

    def __init__(
        self, session: Session, reader: QueueReader, *, automatic: bool, deadline_s: float
    ) -> None:
        """Made by ``Queues.receive``."""
        self._reader = reader
        key = participant_key(CONSUMER, reader.name)
        what = f"consumer of queue {reader.queue!r}"
        super().__init__(session, key, reader, what=what, deadline_s=deadline_s)
        self._automatic = automatic
        self._settle_through: SettleRows = self._settle

    @property
    def name(self) -> str:
        """Its name on this connection, as ``penstock queue status`` shows it."""
        return self._reader.name

    @property
    def stale_messages(self) -> int:
        """How many settlements came too late, because the connection was lost before."""
        return self._reader.stale_messages

    async def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that was settled is durable."""
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not settled")):
            while not self._reader.settled_up:
                self._raise_if_over()
                await self._driver.wait()

    # -- reading ----------------------------------------------------------------------------

    def _take(self) -> QueueBatch | None:
        reader = self._reader
        if not reader.deliveries:
            return None
        batch = QueueBatch(reader.deliveries.popleft(), reader.generation, self._settle_through)
        reader.hand_out(batch)
        return batch

    async def _wait_whole_batch(self, deadline_s: float) -> QueueBatch | None:
        batch = await self._wait_batch(deadline_s)
        if batch is not None:
            batch.given = len(batch)
            self._tell_given(at_once=bool(batch.tried))
        return batch

    def _rows_of(self, batch: QueueBatch) -> Iterator[QueueMessage]:
        """Messages whose connection was lost, or whose consumer is closed, are not given any more.

        The broker hears that a message was given before the application gets it, if the message was
        handed out before: the program may crash over it.  Others are reported with the settlements.
        """
        reader, tried = self._reader, batch.tried
        for message in batch:
            if batch.generation != reader.generation or self._closed:
                return
            row = message.row
            batch.given = row + 1
            if tried and batch.positions[row] in tried:
                self._caller.run(self._tell_given, True)
            elif not row:
                self._caller.post(self._tell_given, False)
            yield message
            if self._automatic:
                message.ack()

    def _tell_given(self, at_once: bool) -> None:
        if at_once:
            self._driver.send_now()
        else:
            self._driver.wake()

    # -- settling ---------------------------------------------------------------------------

    def _called_from(self, caller: Caller) -> None:
        super()._called_from(caller)
        self._settle_through = partial(caller.post, self._settle)

    def _settle(self, batch: QueueBatch, row: int | None, outcome: Outcome) -> None:
        """What a message's ``ack`` calls, with its row or with None for the whole batch."""
        if row is None:
            self._reader.settle_all(batch.generation, batch.positions, outcome)
        else:
            self._reader.settle(batch.generation, batch.positions[row], outcome)
        self._driver.wake()

"""Work queues for programs without an event loop: the asyncio ones, run in the client's thread."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.publisher import Publisher
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.queues import queues as asynchronous
from penstock.client.queues.message import QueueBatch, QueueMessage
from penstock.client.queues.queues import PREFETCH, QueueAckMode
from penstock.client.queues.reader import Outcome
from penstock.content.rows.columns import Buffer
from penstock.services.queues.messages import DEFAULT_PRIORITY


class Queues:
    """The queues that a client's broker hosts or can reach."""

    def __init__(self, thread: LoopThread, queues: asynchronous.Queues) -> None:
        """Made by the blocking client."""
        self._thread = thread
        self._queues = queues

    def send(
        self,
        queue: str,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        priority: int = DEFAULT_PRIORITY,
        time_to_live_s: float | None = None,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Send one message and wait until it is durable in the queue or alias queue."""
        return self._thread.call(
            self._queues.send(
                queue,
                attributes,
                payload,
                priority=priority,
                time_to_live_s=time_to_live_s,
                deadline_s=deadline_s,
            )
        )

    def sender(
        self,
        queue: str,
        name: str | None = None,
        *,
        priority: int = DEFAULT_PRIORITY,
        time_to_live_s: float | None = None,
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
    ) -> Publisher:
        """A sender of its own order, for high rates."""

        async def make() -> asynchronous.QueueSender:
            return self._queues.sender(
                queue,
                name,
                priority=priority,
                time_to_live_s=time_to_live_s,
                first_sequence=first_sequence,
                limits=limits,
            )

        return Publisher(self._thread, self._thread.call(make()))

    def receive(
        self,
        queue: str,
        *,
        selector: str = "",
        prefetch: int = PREFETCH,
        ack: QueueAckMode = "explicit",
    ) -> Receiver:
        """A consumer of a queue, as in the asyncio client."""

        async def make() -> asynchronous.Receiver:
            return self._queues.receive(queue, selector=selector, prefetch=prefetch)

        return Receiver(self._thread, self._thread.call(make()), automatic=ack == "auto")

    def status(self, queue: str = "", *, deadline_s: float | None = None) -> list[dict[str, Any]]:
        """The state of one queue, or of all that the broker hosts."""
        return self._thread.call(self._queues.status(queue, deadline_s=deadline_s))

    def browse(
        self,
        queue: str,
        *,
        selector: str = "",
        limit: int = 100,
        deadline_s: float | None = None,
    ) -> list[tuple[int, dict[str, Any], bytes]]:
        """Position, attributes and payload of waiting messages, without taking them."""
        return self._thread.call(
            self._queues.browse(queue, selector=selector, limit=limit, deadline_s=deadline_s)
        )

    def purge(self, queue: str, *, deadline_s: float | None = None) -> int:
        """Discard what waits; how many messages."""
        return self._thread.call(self._queues.purge(queue, deadline_s=deadline_s))

    def add_destination(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Give an alias queue one more destination; returns all of them."""
        change = self._queues.add_destination(alias, destination, deadline_s=deadline_s)
        return self._thread.call(change)

    def retire(self, alias: str, destination: str, *, deadline_s: float | None = None) -> list[str]:
        """Take a destination from an alias queue; returns those that are left."""
        return self._thread.call(self._queues.retire(alias, destination, deadline_s=deadline_s))


class Receiver:
    """One consumer; iterate over it, or use it in a ``with`` block."""

    def __init__(
        self, thread: LoopThread, receiver: asynchronous.Receiver, *, automatic: bool
    ) -> None:
        """Made by ``Queues.receive``; one thread at a time may use it."""
        self._thread = thread
        self._receiver = receiver
        self._automatic = automatic
        receiver.settle_through(self._settle)

    def _settle(self, batch: QueueBatch, row: int | None, outcome: Outcome) -> None:
        self._thread.post(self._receiver.settle, batch, row, outcome)

    def __enter__(self) -> Self:
        """Become a consumer."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave; what was not settled returns to the queue."""
        self.close()

    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has accepted the consumer."""
        self._thread.call(self._receiver.open(deadline_s=deadline_s))

    def close(self, *, deadline_s: float | None = None) -> None:
        """Say what was settled, and leave."""
        self._thread.call(self._receiver.close(deadline_s=deadline_s))

    def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that was settled is durable."""
        self._thread.call(self._receiver.flush(deadline_s=deadline_s))

    def __iter__(self) -> Iterator[QueueMessage]:
        """The messages, until the receiver is closed."""
        return self.messages()

    def messages(self, *, deadline_s: float = math.inf) -> Iterator[QueueMessage]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long."""
        self.open()
        while (batch := self._take_batch(deadline_s)) is not None:
            for message in batch:
                if not self._receiver.is_current(batch):
                    break
                self._give(batch, message.row)
                yield message
                if self._automatic:
                    message.ack()

    def _take_batch(self, deadline_s: float) -> QueueBatch | None:
        return self._thread.call(self._receiver.take_batch(deadline_s=deadline_s))

    def _give(self, batch: QueueBatch, row: int) -> None:
        """Say that the application gets a message: before that, if it was handed out before."""
        batch.given = row + 1
        if batch.tried and batch.positions[row] in batch.tried:
            self._thread.call(self._told_given(batch, row))
        elif not row:
            # The others are told with the settlements, which are posted one by one as well.
            self._thread.post(self._receiver.give, batch, row)

    async def _told_given(self, batch: QueueBatch, row: int) -> None:
        self._receiver.give(batch, row)

    def batches(self, *, deadline_s: float = math.inf) -> Iterator[QueueBatch]:
        """The messages as they arrived together, until the receiver is closed."""
        self.open()
        while (batch := self._next_batch(deadline_s)) is not None:
            yield batch

    def _next_batch(self, deadline_s: float) -> QueueBatch | None:
        return self._thread.call(self._receiver.next_batch(deadline_s=deadline_s))

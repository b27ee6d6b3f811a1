"""Work queues, as the application sees them.

    await client.queues.send("orders", {"customer": 7}, b"...")
    async for message in client.queues.receive("work"):
        async with message.process():
            ...

``send`` waits until the message is durable; a ``sender`` takes many messages at a high rate.  A
message that was received is the consumer's until it is settled or the connection is lost.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator
from functools import partial
from types import TracebackType
from typing import Any, Literal, TypeAlias

import msgspec

from penstock.client.client import ClientOptions
from penstock.client.errors import Disconnected, PenstockError
from penstock.client.life_cycle import ReaderPhase
from penstock.client.limits import check_name, check_selector
from penstock.client.publishing.instance import new_instance
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.publisher import Publisher
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.queue_requests import QueueRequests
from penstock.client.queues.message import QueueBatch, QueueMessage, SettleRows
from penstock.client.queues.producer import QueueProducer
from penstock.client.queues.reader import Outcome, QueueReader
from penstock.client.reading import Reading
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.columns import Buffer
from penstock.core.clock import seconds
from penstock.core.message import participant_key
from penstock.services.queues.messages import (
    CONSUMER,
    DEFAULT_PRIORITY,
    REQUESTS,
    Browse,
    ChangeDestination,
    ListQueues,
    PurgeQueue,
    SenderOpened,
)

QueueAckMode: TypeAlias = Literal["auto", "explicit"]

PREFETCH = 200
"""Enough to keep a quick consumer busy over a slow link, few enough that a slow one does not sit on
work that others could do."""


class ReceiveRefusedError(PenstockError):
    """The broker does not let us receive from this queue, and said why."""

    def __init__(self, queue: str, reason: str) -> None:
        """``reason`` is the broker's word."""
        super().__init__(f"cannot receive from {queue!r}: {reason}")
        self.queue = queue
        self.reason = reason


class QueueSender(Publisher):
    """A publisher whose messages go to one queue; a receipt's ``tick`` is a position there."""

    def received(self, message: Any) -> None:
        """An answer."""
        super().received(message)
        if isinstance(message, SenderOpened):
            self._resolve_open()


class Queues:
    """The queues that a client's broker hosts or can reach."""

    def __init__(self, session: Session, name: str, options: ClientOptions) -> None:
        """Made by ``Client.queues``; ``name`` is the client's."""
        self._session = session
        self._name = name
        self._options = options
        self._requests = QueueRequests(session, REQUESTS)
        self._deadline_s = options.deadline_s
        self._senders: dict[tuple[str, int, float | None], QueueSender] = {}
        self._last_consumer = 0

    # -- sending ----------------------------------------------------------------------------

    async def send(
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
        key = (queue, priority, time_to_live_s)
        sender = self._senders.get(key)
        if sender is None:
            sender = self._senders[key] = self.sender(
                queue, priority=priority, time_to_live_s=time_to_live_s
            )
        return await sender.publish(attributes, payload, deadline_s=deadline_s)

    def sender(
        self,
        queue: str,
        name: str | None = None,
        *,
        priority: int = DEFAULT_PRIORITY,
        time_to_live_s: float | None = None,
        first_sequence: int | None = None,
        limits: PublishLimits | None = None,
    ) -> QueueSender:
        """A sender of its own order, for high rates.

        Its ``publish`` waits for the receipt, its ``send`` only for room, its ``flush`` for all
        receipts.  A ``name`` that is used again continues the numbering of its messages.  It has
        one sender at a time: the latest takes it over, and an earlier one that still sends gets
        ``PublisherTakenOver``.
        """
        limits = limits or self._options.publish
        check_name("queue", queue)
        check_name("sender", name or "")
        producer = QueueProducer(
            name or f"{self._name}/{secrets.token_hex(8)}",
            limits,
            queue=queue,
            priority=priority,
            time_to_live_ns=seconds(time_to_live_s) if time_to_live_s else 0,
            first_sequence=first_sequence,
            instance=new_instance(),
        )
        return QueueSender(
            self._session, producer, batch_rows=limits.batch_rows, deadline_s=self._deadline_s
        )

    # -- receiving --------------------------------------------------------------------------

    def receive(
        self,
        queue: str,
        *,
        selector: str = "",
        prefetch: int = PREFETCH,
        ack: QueueAckMode = "explicit",
    ) -> Receiver:
        """A consumer of a queue.  With ``ack="auto"`` asking for the next message settles one."""
        if prefetch <= 0:
            raise ValueError(f"prefetch={prefetch!r}: use a positive number")
        check_name("queue", queue)
        check_selector(selector)
        self._last_consumer += 1
        name = f"{self._name}/{self._last_consumer}"
        reader = QueueReader(name, queue, selector, prefetch)
        return Receiver(self._session, reader, automatic=ack == "auto", deadline_s=self._deadline_s)

    # -- looking and changing ---------------------------------------------------------------

    async def status(
        self, queue: str = "", *, deadline_s: float | None = None
    ) -> list[dict[str, Any]]:
        """The state of one queue, or of all that the broker hosts."""
        document = await self._ask(lambda number: ListQueues(number, queue), deadline_s)
        listed: list[dict[str, Any]] = document["queues"]
        return listed

    async def purge(self, queue: str, *, deadline_s: float | None = None) -> int:
        """Discard what waits; how many messages."""
        document = await self._ask(lambda number: PurgeQueue(number, queue), deadline_s)
        return int(document["purged"])

    async def retire(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Take a destination from an alias queue; returns those that are left."""
        document = await self._ask(
            lambda number: ChangeDestination(number, alias, destination, True), deadline_s
        )
        left: list[str] = document["destinations"]
        return left

    async def add_destination(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Give an alias queue one more destination; returns all of them."""
        document = await self._ask(
            lambda number: ChangeDestination(number, alias, destination), deadline_s
        )
        known: list[str] = document["destinations"]
        return known

    async def browse(
        self,
        queue: str,
        *,
        selector: str = "",
        limit: int = 100,
        deadline_s: float | None = None,
    ) -> list[tuple[int, dict[str, Any], bytes]]:
        """Position, attributes and payload of waiting messages, without taking them."""
        found: list[tuple[int, dict[str, Any], bytes]] = []
        position = 0
        while len(found) < limit:
            left = limit - len(found)
            make = partial(_browse, queue, selector, position, left)
            answer = await self._requests.ask(make, self._limit_s(deadline_s))
            for frame in answer.frames:
                rows = zip(
                    frame.ticks,
                    frame.batch.attribute_rows(),
                    frame.batch.payload_rows(),
                    strict=True,
                )
                found += [(int(at), attributes, payload) for at, attributes, payload in rows]
            position = answer.next_position
            if not position:
                break
        return found

    async def _ask(self, make: Any, deadline_s: float | None) -> dict[str, Any]:
        answer = await self._requests.ask(make, self._limit_s(deadline_s))
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return document

    def _limit_s(self, deadline_s: float | None) -> float:
        return self._deadline_s if deadline_s is None else deadline_s


def _browse(queue: str, selector: str, position: int, limit: int, number: int) -> Browse:
    return Browse(number, queue, selector, position, limit)


class Receiver(Reading):
    """One consumer; iterate over it, or use it in an ``async with`` block."""

    def __init__(
        self, session: Session, reader: QueueReader, *, automatic: bool, deadline_s: float
    ) -> None:
        """Made by ``Queues.receive``."""
        super().__init__(reader)
        self._session = session
        self._reader = reader
        self._automatic = automatic
        self._deadline_s = deadline_s
        self._key = participant_key(CONSUMER, reader.name)
        self._joined = False
        self._settle_through: SettleRows = self.settle

    @property
    def stale_messages(self) -> int:
        """How many settlements came too late, because the connection was lost before."""
        return self._reader.stale_messages

    # -- opening and closing ----------------------------------------------------------------

    async def __aenter__(self) -> Receiver:
        """Become a consumer."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Leave; what was not settled returns to the queue."""
        await self.close()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has accepted the consumer; raises ``ReceiveRefusedError``."""
        if not self._joined:
            self._joined = True
            self._session.join(self._key, self)
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not accepted")):
            while self._reader.phase is not ReaderPhase.OPEN:
                self._raise_end()
                await self._wait()

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Say what was settled, and leave."""
        if not self._joined or self._reader.is_over:
            return
        self._reader.close()
        self._session.wake(self._key)
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not closed")):
            while not self._reader.is_over and self._end is None:
                await self._wait()
        self._session.leave(self._key)

    async def flush(self, *, deadline_s: float | None = None) -> None:
        """Wait until everything that was settled is durable."""
        async with deadline(self._limit_s(deadline_s), lambda: self._describe("not settled")):
            while not self._reader.settled_up:
                self._raise_end()
                await self._wait()

    # -- reading ----------------------------------------------------------------------------

    def __aiter__(self) -> AsyncIterator[QueueMessage]:
        """The messages, until the receiver is closed."""
        return self.messages()

    async def messages(self, *, deadline_s: float = math.inf) -> AsyncIterator[QueueMessage]:
        """The same; raises ``DeadlineExceeded`` if none comes for so long."""
        if not self._joined:
            await self.open()
        reader = self._reader
        while (batch := await self.take_batch(deadline_s=deadline_s)) is not None:
            for given, message in enumerate(batch, 1):
                if batch.generation != reader.generation:
                    break
                if batch.tried or given == 1:
                    self.give(batch, message.row)
                # The others are told with the settlements, which wake the session anyway.
                batch.given = given
                yield message
                if self._automatic:
                    message.ack()

    async def batches(self, *, deadline_s: float = math.inf) -> AsyncIterator[QueueBatch]:
        """The messages as they arrived together, until the receiver is closed."""
        if not self._joined:
            await self.open()
        while (batch := await self.next_batch(deadline_s=deadline_s)) is not None:
            yield batch

    async def next_batch(self, *, deadline_s: float = math.inf) -> QueueBatch | None:
        """The next messages that arrived together; None when the receiver is closed."""
        batch = await self.take_batch(deadline_s=deadline_s)
        if batch is not None:
            self.give_all(batch)
        return batch

    def give(self, batch: QueueBatch, row: int) -> None:
        """The application gets one message of a batch that it took."""
        batch.given = max(batch.given, row + 1)
        if batch.tried and batch.positions[row] in batch.tried:
            self._session.send_now(self._key)
        else:
            self._session.wake(self._key)

    def give_all(self, batch: QueueBatch) -> None:
        """The application gets a whole batch."""
        batch.given = len(batch)
        if batch.tried:
            self._session.send_now(self._key)
        else:
            self._session.wake(self._key)

    async def take_batch(self, *, deadline_s: float = math.inf) -> QueueBatch | None:
        """The next batch, of which the application was given nothing yet."""
        reader = self._reader
        async with deadline(deadline_s, lambda: self._describe("nothing came")):
            while not reader.deliveries:
                if reader.phase is ReaderPhase.OVER and not reader.problem and self._end is None:
                    return None
                self._raise_end()
                await self._wait()
        batch = QueueBatch(reader.deliveries.popleft(), reader.generation, self._settle_through)
        reader.hand_out(batch)
        return batch

    def is_current(self, batch: QueueBatch) -> bool:
        """Whether the connection on which these messages came is still there."""
        return batch.generation == self._reader.generation

    def settle_through(self, settle: SettleRows) -> None:
        """Messages settle themselves by this, for programs that live in other threads."""
        self._settle_through = settle

    def settle(self, batch: QueueBatch, row: int | None, outcome: Outcome) -> None:
        """A message, or all of a batch, have their outcome."""
        if row is None:
            self._reader.settle_all(batch.generation, batch.positions, outcome)
        else:
            self._reader.settle(batch.generation, batch.positions[row], outcome)
        self._session.wake(self._key)

    async def farewell(self, deadline_s: float | None) -> None:
        """Give back what was not settled, uncounted."""
        await self.close(deadline_s=deadline_s)

    def _raise_end(self) -> None:
        if self._end is not None:
            raise self._end.with_traceback(None)
        if self._reader.problem:
            raise ReceiveRefusedError(self._reader.queue, self._reader.problem)
        if self._reader.phase is ReaderPhase.OVER:
            raise Disconnected(f"the consumer of {self._reader.queue!r} is closed")

    def _limit_s(self, deadline_s: float | None) -> float:
        return self._deadline_s if deadline_s is None else deadline_s

    def _describe(self, what: str) -> str:
        return f"{what}: consumer of queue {self._reader.queue!r}; {self._session.describe()}"

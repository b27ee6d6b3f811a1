"""Work queues, as the application sees them.

    await client.queues.send("orders", {"customer": 7}, b"...")
    async for message in client.queues.receive("work"):
        async with message.process():
            ...

``send`` waits until the message is durable; a ``sender`` takes many messages at a high rate.  A
message that was received is the consumer's until it is settled or the connection is lost.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias

import msgspec

from penstock.client.context import ClientContext
from penstock.client.facade import ServiceFacade
from penstock.client.limits import check_name, check_selector
from penstock.client.publishing.instance import new_instance
from penstock.client.publishing.limits import PublishLimits
from penstock.client.publishing.receipts import Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.queues.producer import QueueProducer
from penstock.client.queues.reader import QueueReader
from penstock.client.queues.receiver import Receiver
from penstock.client.queues.sender import QueueSender
from penstock.content.rows.columns import Buffer
from penstock.core.clock import seconds
from penstock.core.message import Request
from penstock.services.queues.messages import (
    DEFAULT_PRIORITY,
    Browse,
    ChangeDestination,
    ListQueues,
    PurgeQueue,
)

QueueAckMode: TypeAlias = Literal["auto", "explicit"]

PREFETCH = 200
"""Enough to keep a quick consumer busy over a slow link, few enough that a slow one does not hold
work that others could do."""


class Queues(ServiceFacade):
    """The queues that a client's broker hosts or can reach."""

    def __init__(self, context: ClientContext) -> None:
        """Made by ``Client.queues``."""
        super().__init__(context)
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
        context = self._context
        limits = limits or context.options.publish
        check_name("queue", queue)
        check_name("sender", name or "")
        producer = QueueProducer(
            name or f"{context.name}/{secrets.token_hex(8)}",
            limits,
            queue=queue,
            priority=priority,
            time_to_live_ns=seconds(time_to_live_s) if time_to_live_s else 0,
            first_sequence=first_sequence,
            instance=new_instance(),
        )
        return QueueSender(
            context.session,
            producer,
            batch_rows=limits.batch_rows,
            deadline_s=context.options.deadline_s,
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
        context = self._context
        reader = QueueReader(f"{context.name}/{self._last_consumer}", queue, selector, prefetch)
        return Receiver(
            context.session,
            reader,
            automatic=ack == "auto",
            deadline_s=context.options.deadline_s,
        )

    # -- looking and changing ---------------------------------------------------------------

    async def status(
        self, queue: str = "", *, deadline_s: float | None = None
    ) -> list[dict[str, Any]]:
        """The state of one queue, or of all that the broker hosts."""
        document = await self._ask(ListQueues(queue), deadline_s)
        listed: list[dict[str, Any]] = document["queues"]
        return listed

    async def purge(self, queue: str, *, deadline_s: float | None = None) -> int:
        """Discard what waits; how many messages."""
        document = await self._ask(PurgeQueue(queue), deadline_s)
        return int(document["purged"])

    async def retire(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Take a destination from an alias queue; returns those that are left."""
        document = await self._ask(ChangeDestination(alias, destination, True), deadline_s)
        left: list[str] = document["destinations"]
        return left

    async def add_destination(
        self, alias: str, destination: str, *, deadline_s: float | None = None
    ) -> list[str]:
        """Give an alias queue one more destination; returns all of them."""
        document = await self._ask(ChangeDestination(alias, destination), deadline_s)
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
        """Position, attributes and payload of waiting messages, which stay in the queue."""
        found: list[tuple[int, dict[str, Any], bytes]] = []
        position = 0
        while len(found) < limit:
            left = limit - len(found)
            request = Browse(queue, selector, position, left)
            answer = await self._context.carry_out(request, deadline_s)
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

    async def _ask(self, request: Request, deadline_s: float | None) -> dict[str, Any]:
        answer = await self._context.carry_out(request, deadline_s)
        document: dict[str, Any] = msgspec.json.decode(answer.document)
        return document

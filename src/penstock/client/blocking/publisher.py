"""Publishing from a thread without an event loop.

1. ``send`` puts a row into a queue that the event loop's thread empties into the publisher; the two
   threads meet only when the queue was empty, or when it is full.
2. The queue is bounded: a full one makes ``send`` wait until the loop has taken everything.
3. What goes wrong on the way is raised by the next ``send`` or ``flush``.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from penstock.client.blocking.classes import Publication
from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.blocking.proxy import Proxy, stands_for
from penstock.client.errors import Disconnected, PenstockError
from penstock.client.publishing import publisher as asynchronous
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes, as_bytes, as_dict
from penstock.client.waiting import deadline
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import AttributeValue, Buffer
from penstock.services.guaranteed.messages import ThrottleNotice

MAX_QUEUED_ROWS: Final = 4096
"""Eight batches: enough that neither thread waits for the other at every batch."""


@stands_for(asynchronous.Publisher)
class Publisher(Proxy):
    """Publishes to one pubend, in order.  Made by ``Client.publisher``."""

    _mirrors = asynchronous.Publisher
    _asyncio: asynchronous.Publisher

    def __init__(self, thread: LoopThread, asyncio_object: asynchronous.Publisher) -> None:
        """``asyncio_object`` lives in the thread's loop."""
        super().__init__(thread, asyncio_object)
        self._closed = False
        self._rows: deque[tuple[dict[str, AttributeValue], bytes]] = deque()
        self._woken = False
        self._mover: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        thread.publishers = [each for each in thread.publishers if not each.closed]
        thread.publishers.append(self)

    @property
    def name(self) -> str:
        """The name under which the pubend knows it."""
        return self._asyncio.name

    @property
    def pubend(self) -> str:
        """Where the messages go; empty until the broker has said so."""
        return self._asyncio.pubend

    @property
    def next_sequence(self) -> int:
        """The number of the next message to be sent; known once the publisher is open."""
        return self._asyncio.next_sequence

    @property
    def throttle(self) -> ThrottleNotice | None:
        """How fast the pubend may be published to at present, and why; None without a limit."""
        return self._asyncio.throttle

    @property
    def unconfirmed_bytes(self) -> int:
        """Bytes without a receipt; rows that still cross the threads are not counted."""
        return self._asyncio.unconfirmed_bytes

    @property
    def closed(self) -> bool:
        """Whether it publishes no more."""
        return self._closed

    def __enter__(self) -> Self:
        """Open at the broker, so that ``pubend`` and ``next_sequence`` are known."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Flush; an exception that is under way is not replaced by one of the flush."""
        try:
            self.close()
        except PenstockError:
            if kind is None:
                raise

    def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has said where the messages go."""
        self._thread.call(self._asyncio.open(deadline_s=deadline_s))

    def close(self, *, deadline_s: float | None = None) -> None:
        """Flush, and publish no more; closing again does nothing."""
        if self._closed or self._thread.stopped:
            return
        self._closed = True

        async def close() -> None:
            try:
                await self._moved(math.inf if deadline_s is None else deadline_s)
            finally:
                await self._asyncio.close(deadline_s=deadline_s)

        self._thread.call(close())

    def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message, behind those that were sent, and wait until it is durable."""

        async def publish() -> Receipt:
            await self._moved(math.inf if deadline_s is None else deadline_s)
            return await self._asyncio.publish(attributes, payload, deadline_s=deadline_s)

        return self._thread.call(publish())

    def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish many messages, behind those that were sent, and wait until all are durable."""

        async def publish() -> list[BatchReceipt]:
            await self._moved(math.inf if deadline_s is None else deadline_s)
            return await self._asyncio.publish_batch(rows, deadline_s=deadline_s)

        return self._thread.call(publish())

    def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> None:
        """Accept one message; waits only while too much is without a receipt.

        Without ``deadline_s`` it waits as long as that takes.
        """
        if self._closed:
            raise Disconnected(f"publisher {self.name!r} was closed")
        rows = self._rows
        if len(rows) >= MAX_QUEUED_ROWS:
            self._thread.call(self._moved(math.inf if deadline_s is None else deadline_s))
        rows.append((as_dict(attributes), payload if type(payload) is bytes else as_bytes(payload)))
        # The mover clears this before it looks at the rows, so a row that finds it set is seen.
        if not self._woken:
            self._woken = True
            self._thread.post(self._start_moving)

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Accept one message behind those that were sent; None if there is no room for it."""
        if self._closed:
            raise Disconnected(f"publisher {self.name!r} was closed")
        publication: Publication | None = self._wrap(
            self._thread.run(self._try_publish, as_dict(attributes), as_bytes(payload))
        )
        return publication

    def flush(self, *, deadline_s: float | None = None) -> list[BatchReceipt]:
        """Wait until everything that was sent so far is durable; raises what went wrong.

        Returns the receipts of what had none when the rows had crossed the threads.
        """

        async def flush() -> list[BatchReceipt]:
            await self._moved(math.inf if deadline_s is None else deadline_s)
            return await self._asyncio.flush(deadline_s=deadline_s)

        return self._thread.call(flush())

    # -- in the loop's thread ---------------------------------------------------------------

    def _start_moving(self) -> None:
        self._woken = False
        if self._mover is None or self._mover.done():
            self._mover = asyncio.get_running_loop().create_task(self._move())

    def _try_publish(
        self, attributes: dict[str, AttributeValue], payload: bytes
    ) -> asynchronous.Publication | None:
        rows = self._rows
        while rows:
            if self._asyncio.try_publish(*rows[0]) is None:
                return None
            rows.popleft()
        return self._asyncio.try_publish(attributes, payload)

    async def _move(self) -> None:
        """Empty the queue into the publisher, which holds us back when it has enough."""
        rows, send = self._rows, self._asyncio.send
        try:
            while rows:
                attributes, payload = rows.popleft()
                await send(attributes, payload, deadline_s=math.inf)
        except PenstockError as error:
            rows.clear()
            self._failure = self._failure or error

    async def _moved(self, deadline_s: float) -> None:
        """Wait until the queue is empty; raises what stopped it from being emptied."""
        self._start_moving()
        assert self._mover is not None
        async with deadline(deadline_s, self._describe):
            await asyncio.shield(self._mover)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _describe(self) -> str:
        return (
            f"{len(self._rows)} messages wait for publisher {self.name!r}, which has "
            f"{self._asyncio.unconfirmed_bytes} bytes without a receipt"
        )

"""Publishing, as the application sees it.

1. ``publish`` waits for the receipt of one message.
2. ``send`` waits only for room: the messages of many calls share batches, and ``flush`` waits for
   the receipts of all of them.  A message's own receipt is had by awaiting what ``send`` returned.
3. ``try_publish`` never waits.
4. What goes wrong with a message is raised by the call that waits for its receipt.  If there is
   none, it is logged, and the next ``flush`` or ``close`` raises it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from penstock.client.closable import Closable
from penstock.client.errors import Disconnected
from penstock.client.life_cycle import ProducerPhase
from penstock.client.publishing.driver import OnThrottle, ProducerDriver
from penstock.client.publishing.parcel import Parcel
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.session import Session
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer
from penstock.services.guaranteed.messages import ThrottleNotice

logger = logging.getLogger(__name__)


class Publication(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message that was accepted; awaiting it gives its receipt, or raises what went wrong."""

    _driver: ProducerDriver
    _parcel: Parcel
    _row: int

    @property
    def settled(self) -> bool:
        """Whether awaiting it would not wait."""
        return self._parcel.settled

    def __await__(self) -> Generator[Any, None, Receipt]:
        """Wait for the receipt, at most for the client's default deadline."""
        return self.receipt().__await__()

    async def receipt(self, *, deadline_s: float | None = None) -> Receipt:
        """The same with a deadline of its own."""
        if not self._parcel.settled:
            await self._driver.wait_settled([self._parcel], deadline_s, claims=1)
        return self._parcel.receipt(self._row)


class Publisher(Closable):
    """Publishes to one pubend, in order.  Made by ``Client.publisher``."""

    def __init__(
        self,
        session: Session,
        producer: Producer,
        *,
        batch_rows: int,
        deadline_s: float,
        on_throttle: OnThrottle | None = None,
    ):
        """``deadline_s`` holds for every call that is not given another one."""
        self._producer = producer
        self._batch_rows = batch_rows
        self._closed = False
        self._driver = ProducerDriver(
            session, producer, deadline_s=deadline_s, on_throttle=on_throttle, close=self.close
        )
        self._turns = self._driver.turns

    @property
    def name(self) -> str:
        """The name under which the pubend knows it."""
        return self._producer.name

    @property
    def pubend(self) -> str:
        """Where the messages go; empty until the broker has said so."""
        return self._producer.pubend

    @property
    def next_sequence(self) -> int:
        """The number of the next message to be sent; known once the publisher is open."""
        return self._producer.next_sequence

    @property
    def closed(self) -> bool:
        """Whether it publishes no more."""
        return self._closed

    @property
    def unconfirmed_bytes(self) -> int:
        """Bytes that were accepted and have no receipt yet."""
        return self._producer.held_bytes

    @property
    def throttle(self) -> ThrottleNotice | None:
        """How fast the pubend may be published to at present, and why; None without a limit."""
        return self._producer.throttle

    # -- publishing -------------------------------------------------------------------------

    async def publish(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Receipt:
        """Publish one message and wait until it is durable."""
        producer = self._producer
        parcel = None if self._turns else producer.add(attributes, payload)
        if parcel is None:
            add = partial(producer.add, attributes, payload)
            started = asyncio.get_running_loop().time()
            parcel = await self._driver.add_when_room(add, deadline_s)
            waited_s = asyncio.get_running_loop().time() - started
            deadline_s = max(0.0, self._driver.limit_s(deadline_s) - waited_s)
        row = len(parcel.rows) - 1
        if row == 0:
            self._driver.wake()
        await self._driver.wait_settled([parcel], deadline_s, claims=1)
        return parcel.receipt(row)

    async def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Publication:
        """Accept one message; waits only while too much is without a receipt."""
        producer = self._producer
        parcel = None if self._turns else producer.add(attributes, payload)
        if parcel is None:
            add = partial(producer.add, attributes, payload)
            parcel = await self._driver.add_when_room(add, deadline_s)
        row = len(parcel.rows) - 1
        if row == 0:
            self._driver.wake()
            if producer.has_batches_to_send:
                # Let the loop send them while the next batch is being filled.
                await asyncio.sleep(0)
        return Publication(self._driver, parcel, row)

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Accept one message, or return None at once if there is no room for it."""
        parcel = None if self._turns else self._producer.add(attributes, payload)
        if parcel is None:
            self._driver.check_usable()
            return None
        row = len(parcel.rows) - 1
        if row == 0:
            self._driver.wake()
        return Publication(self._driver, parcel, row)

    async def publish_batch(
        self, rows: Batch | Iterable[Row], *, deadline_s: float | None = None
    ) -> list[BatchReceipt]:
        """Publish many messages and wait until all are durable.

        Rows are (attributes, payload) pairs.  If some cannot travel nothing is published.  If the
        broker refuses a part, the rest may be stored: the error names the part.
        """
        batches = [rows] if isinstance(rows, Batch) else list(self._batches(rows))
        parcels: list[Parcel] = []
        for batch in batches:
            if not len(batch):
                continue
            parcel = None if self._turns else self._producer.add_batch(batch)
            if parcel is None:
                add = partial(self._producer.add_batch, batch)
                parcel = await self._driver.add_when_room(add, deadline_s)
            parcels.append(parcel)
            self._driver.wake()
            await asyncio.sleep(0)
        await self._driver.wait_settled(parcels, deadline_s, claims=None)
        return [receipt for parcel in parcels for receipt in parcel.receipts()]

    def _batches(self, rows: Iterable[Row]) -> Iterator[Batch]:
        remaining = iter(rows)
        while chunk := list(islice(remaining, self._batch_rows)):
            yield Batch.from_rows(chunk)

    async def flush(self, *, deadline_s: float | None = None) -> list[BatchReceipt]:
        """Wait until everything that was accepted so far is durable.

        Returns the receipts of what was without one at the call; raises what went wrong with any
        message since the last flush whose receipt no call waited for.
        """
        parcels = self._producer.unsettled()
        self._producer.flush()
        self._driver.wake()
        await self._driver.wait_settled(parcels, deadline_s, claims=0)
        failure = self._driver.take_failure()
        if failure is not None:
            raise failure.with_traceback(None)
        return [receipt for parcel in parcels for receipt in parcel.receipts()]

    # -- opening and closing ----------------------------------------------------------------

    async def _enter(self) -> None:
        await self.open()

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has said where the messages go."""
        self._driver.check_usable()
        if self._producer.phase is not ProducerPhase.OPEN:
            await self._driver.wait_open(deadline_s)

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Flush, and publish no more; closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.flush(deadline_s=deadline_s)
        finally:
            self._driver.leave(Disconnected(f"publisher {self.name!r} was closed"))

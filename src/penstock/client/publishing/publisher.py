"""Publishing, as the application sees it.

1. ``publish`` waits for the receipt of one message.
2. ``send`` waits only for room: the messages of many calls share batches, and ``flush`` waits for
   the receipts of all of them.  A message's own receipt is had by awaiting what ``send`` returned.
3. ``try_publish`` never waits.
4. What goes wrong with a message reaches whoever waits for its receipt.  If nobody does, it is
   logged, and the next ``flush`` or ``close`` raises it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, TypeAlias

import msgspec

from penstock.client.errors import Disconnected, PenstockError
from penstock.client.life_cycle import ProducerPhase
from penstock.client.publishing.parcel import Parcel
from penstock.client.publishing.producer import Producer
from penstock.client.publishing.receipts import BatchReceipt, Receipt
from penstock.client.publishing.row import Attributes
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.batch import Batch, Row
from penstock.content.rows.columns import Buffer, InvalidAttribute
from penstock.core.clock import Instant
from penstock.core.message import PUBLISHER, Message, participant_key
from penstock.services.guaranteed.messages import ProducerOpened, ProducerRefused, ThrottleNotice

logger = logging.getLogger(__name__)

OnThrottle: TypeAlias = Callable[[ThrottleNotice], object]
"""Called with the pubend's word whenever the rate that it allows changes; a rate of 0 is none."""


class Publication(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A message that was taken in; awaiting it gives its receipt, or raises what went wrong."""

    publisher: Publisher
    parcel: Parcel
    row: int

    @property
    def settled(self) -> bool:
        """Whether awaiting it would not wait."""
        return self.parcel.settled

    def __await__(self) -> Generator[Any, None, Receipt]:
        """Wait for the receipt, at most for the client's default deadline."""
        return self.receipt().__await__()

    async def receipt(self, *, deadline_s: float | None = None) -> Receipt:
        """The same with a deadline of its own."""
        if not self.parcel.settled:
            await self.publisher.wait_settled([self.parcel], deadline_s, claims=1)
        return self.parcel.receipt(self.row)


class Publisher:
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
        self._session = session
        self._producer = producer
        self._batch_rows = batch_rows
        self._deadline_s = deadline_s
        self._key = participant_key(PUBLISHER, producer.name)
        self._waiters: dict[Parcel, list[tuple[asyncio.Future[None], int]]] = {}
        self._turns: deque[asyncio.Event] = deque()
        self._open_waiters: list[asyncio.Future[None]] = []
        self._failure: PenstockError | InvalidAttribute | None = None
        self._end: PenstockError | None = None
        self._on_throttle = on_throttle
        session.join(self._key, self)

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
    def unconfirmed_bytes(self) -> int:
        """What was taken in and has no receipt yet."""
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
            parcel = await self._add_when_room(add, deadline_s)
            waited_s = asyncio.get_running_loop().time() - started
            deadline_s = max(0.0, self._limit_s(deadline_s) - waited_s)
        row = len(parcel.rows) - 1
        if row == 0:
            self._session.wake(self._key)
        await self.wait_settled([parcel], deadline_s, claims=1)
        return parcel.receipt(row)

    async def send(
        self,
        attributes: Attributes | None = None,
        payload: Buffer = b"",
        *,
        deadline_s: float | None = None,
    ) -> Publication:
        """Take one message in; waits only while too much is without a receipt."""
        producer = self._producer
        parcel = None if self._turns else producer.add(attributes, payload)
        if parcel is None:
            add = partial(producer.add, attributes, payload)
            parcel = await self._add_when_room(add, deadline_s)
        row = len(parcel.rows) - 1
        if row == 0:
            self._session.wake(self._key)
            if producer.has_batches_to_send:
                # Let the loop send them while the next batch is being filled.
                await asyncio.sleep(0)
        return Publication(self, parcel, row)

    def try_publish(
        self, attributes: Attributes | None = None, payload: Buffer = b""
    ) -> Publication | None:
        """Take one message in, or None at once if there is no room for it."""
        parcel = None if self._turns else self._producer.add(attributes, payload)
        if parcel is None:
            self._check_usable()
            return None
        row = len(parcel.rows) - 1
        if row == 0:
            self._session.wake(self._key)
        return Publication(self, parcel, row)

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
                parcel = await self._add_when_room(add, deadline_s)
            parcels.append(parcel)
            self._session.wake(self._key)
            await asyncio.sleep(0)
        await self.wait_settled(parcels, deadline_s, claims=None)
        return [receipt for parcel in parcels for receipt in parcel.receipts()]

    def _batches(self, rows: Iterable[Row]) -> Iterator[Batch]:
        remaining = iter(rows)
        while chunk := list(islice(remaining, self._batch_rows)):
            yield Batch.from_rows(chunk)

    async def flush(self, *, deadline_s: float | None = None) -> list[BatchReceipt]:
        """Wait until everything that was taken in so far is durable.

        Returns the receipts of what was without one at the call; raises what went wrong with any
        message since the last flush that nobody waited for.
        """
        parcels = self._producer.unsettled()
        self._producer.flush()
        self._session.wake(self._key)
        await self.wait_settled(parcels, deadline_s, claims=0)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure.with_traceback(None)
        return [receipt for parcel in parcels for receipt in parcel.receipts()]

    # -- opening and closing ----------------------------------------------------------------

    async def __aenter__(self) -> Publisher:
        """Open at the broker, so that ``pubend`` and ``next_sequence`` are known."""
        await self.open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Flush; an exception that is under way is not replaced by one of the flush."""
        try:
            await self.close()
        except PenstockError as problem:
            if kind is None:
                raise
            logger.error("publisher %r: %s", self.name, problem)

    async def open(self, *, deadline_s: float | None = None) -> None:
        """Wait until the broker has said where the messages go."""
        self._check_usable()
        if self._producer.phase is ProducerPhase.OPEN:
            return
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open_waiters.append(opened)
        self._producer.want()
        self._session.wake(self._key)
        async with deadline(
            self._limit_s(deadline_s), lambda: self._describe("no broker opened it")
        ):
            await opened

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Flush, and publish no more."""
        try:
            await self.flush(deadline_s=deadline_s)
        finally:
            self._session.say(self._producer.farewell())
            self._session.leave(self._key)
            self.ended(Disconnected(f"publisher {self.name!r} was closed"))

    async def farewell(self, deadline_s: float | None) -> None:
        """Wait for the receipts of what was published."""
        await self.close(deadline_s=deadline_s)

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """A connection begins."""
        self._producer.connected()

    def disconnected(self, reason: str) -> None:
        """The connection has ended."""
        self._producer.disconnected()

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """What to send now."""
        out = self._producer.outgoing(now, room_bytes)
        self._settle()
        return out

    @property
    def wants_room(self) -> bool:
        """Whether something waits for room on the connection."""
        return self._producer.wants_room

    def next_deadline(self) -> Instant | None:
        """When to ask again."""
        return self._producer.next_deadline()

    def received(self, message: Any) -> None:
        """An answer, or the reason for a delay."""
        if isinstance(message, ThrottleNotice):
            if self._producer.throttled(message) and self._on_throttle is not None:
                self._tell_application(self._on_throttle, message)
            return
        self._producer.received(message)
        self._settle()
        if isinstance(message, ProducerOpened | ProducerRefused):
            self._resolve_open()

    def _tell_application(self, on_throttle: OnThrottle, notice: ThrottleNotice) -> None:
        """Its own mistakes must not end the connection."""
        try:
            on_throttle(notice)
        except Exception:
            logger.exception("publisher %r: on_throttle failed", self.name)

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        self._end = self._end or error
        self._producer.close(str(error))
        self._settle()
        for waiter in self._open_waiters:
            if not waiter.done():
                waiter.set_exception(error)

    # -- waiting ----------------------------------------------------------------------------

    async def wait_settled(
        self, parcels: Iterable[Parcel], deadline_s: float | None, *, claims: int | None
    ) -> None:
        """Wait until every row of these parcels has its outcome.

        ``claims`` is the number of rows in each whose failure the caller will raise; None is all.
        """
        waiting: list[asyncio.Future[None]] = []
        loop = asyncio.get_running_loop()
        for parcel in parcels:
            if not parcel.settled:
                future: asyncio.Future[None] = loop.create_future()
                waiting.append(future)
                claim = parcel.size if claims is None else claims
                self._waiters.setdefault(parcel, []).append((future, claim))
        if not waiting:
            return
        async with deadline(
            self._limit_s(deadline_s), lambda: self._describe("no receipt came"), accepted=True
        ):
            for future in waiting:
                await future

    async def _add_when_room(
        self, add: Callable[[], Parcel | None], deadline_s: float | None
    ) -> Parcel:
        """Wait until there is room; whoever waited longest goes first, and nobody passes by."""
        self._check_usable()
        turn = asyncio.Event()
        self._turns.append(turn)
        try:
            async with deadline(
                self._limit_s(deadline_s), lambda: self._describe("there was no room")
            ):
                while True:
                    await turn.wait()
                    self._check_usable()
                    parcel = add()
                    if parcel is not None:
                        return parcel
                    # Rows that were estimated turned out to be heavier when they were sealed.
                    turn.clear()
        finally:
            self._turns.remove(turn)
            self._pass_on_room()

    def _pass_on_room(self) -> None:
        if self._turns and (self._producer.has_room or self._end is not None):
            self._turns[0].set()

    def _settle(self) -> None:
        for parcel in self._producer.take_settled():
            claimed = 0
            for waiter, claim in self._waiters.pop(parcel, ()):
                if not waiter.done():
                    waiter.set_result(None)
                    claimed += claim
            failure = parcel.failure
            if failure is not None and claimed < parcel.size:
                logger.warning("publisher %r: %s", self.name, failure)
                self._failure = self._failure or failure
        self._pass_on_room()

    def _resolve_open(self) -> None:
        refusal = self._producer.refusal
        if self._producer.phase is not ProducerPhase.OPEN and refusal is None:
            return
        waiters, self._open_waiters = self._open_waiters, []
        for waiter in waiters:
            if waiter.done():
                continue
            if refusal is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(refusal)

    def _limit_s(self, deadline_s: float | None) -> float:
        return self._deadline_s if deadline_s is None else deadline_s

    def _check_usable(self) -> None:
        end = self._end or self._session.failure
        if end is not None:
            raise end.with_traceback(None)

    def _describe(self, what: str) -> str:
        notice = self._producer.throttle
        slowed = (
            f", which allows {notice.allowed_msgs_per_s:g} messages/s because {notice.cause}"
            if notice is not None
            else ""
        )
        return (
            f"{what} for publisher {self.name!r} (pubend {self.pubend or 'not known yet'}{slowed}; "
            f"{self.unconfirmed_bytes} bytes without a receipt); {self._session.describe()}"
        )

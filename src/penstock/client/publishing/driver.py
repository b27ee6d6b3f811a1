"""Moves a producer on a session's connection, and tells those who wait what became of their rows.

1. Rows settle by parcels; everyone who waits for a parcel is woken when it has settled.
2. Room is given in the order of asking: no call passes one that waits already.
3. A failure that no call claims is logged, and kept for the next ``flush``.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from penstock.client.errors import PenstockError
from penstock.client.life_cycle import ProducerPhase
from penstock.client.publishing.parcel import Parcel
from penstock.client.publishing.producer import Producer
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.content.rows.columns import InvalidAttribute
from penstock.core.clock import Instant
from penstock.core.message import PUBLISHER, Message, participant_key
from penstock.services.guaranteed.messages import ThrottleNotice

logger = logging.getLogger(__name__)

OnThrottle: TypeAlias = Callable[[ThrottleNotice], object]
"""Called with the pubend's notice whenever the rate that it allows changes; a rate of 0 is none."""


class ProducerDriver:
    """One participant of a session."""

    def __init__(
        self,
        session: Session,
        producer: Producer,
        *,
        deadline_s: float,
        on_throttle: OnThrottle | None,
        close: Callable[..., Awaitable[None]],
    ) -> None:
        """``close`` is called with ``deadline_s`` when the client is closed."""
        self.turns: deque[asyncio.Event] = deque()
        """Those who wait for room."""
        self.end: PenstockError | None = None
        self._session = session
        self._producer = producer
        self._deadline_s = deadline_s
        self._on_throttle = on_throttle
        self._close = close
        self._key = participant_key(PUBLISHER, producer.name)
        self._waiters: dict[Parcel, list[tuple[asyncio.Future[None], int]]] = {}
        self._open_waiters: list[asyncio.Future[None]] = []
        self._failure: PenstockError | InvalidAttribute | None = None
        session.join(self._key, self)

    def wake(self) -> None:
        """Send what there is at the end of this turn of the event loop."""
        self._session.wake(self._key)

    def leave(self, error: PenstockError) -> None:
        """Tell the broker that nothing more will come, and leave the session."""
        self._session.say(self._producer.farewell())
        self._session.leave(self._key)
        self.ended(error)

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
        if self._open_waiters:
            self._resolve_open()

    def ended(self, error: PenstockError) -> None:
        """The session has given up, or the client or the publisher was closed."""
        self.end = self.end or error
        self._producer.close(str(error))
        self._settle()
        for waiter in self._open_waiters:
            if not waiter.done():
                waiter.set_exception(error)

    async def farewell(self, deadline_s: float | None) -> None:
        """The client is being closed."""
        await self._close(deadline_s=deadline_s)

    def _tell_application(self, on_throttle: OnThrottle, notice: ThrottleNotice) -> None:
        """An exception of the application must not end the connection."""
        try:
            on_throttle(notice)
        except Exception:
            logger.exception("publisher %r: on_throttle failed", self._producer.name)

    # -- waiting ----------------------------------------------------------------------------

    async def wait_open(self, deadline_s: float | None) -> None:
        """Wait until the broker has opened the producer; raises its refusal."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open_waiters.append(opened)
        self._producer.want()
        self.wake()
        async with deadline(
            self.limit_s(deadline_s), lambda: self._describe("no broker opened it")
        ):
            await opened

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
            self.limit_s(deadline_s), lambda: self._describe("no receipt came"), accepted=True
        ):
            for future in waiting:
                await future

    async def add_when_room(
        self, add: Callable[[], Parcel | None], deadline_s: float | None
    ) -> Parcel:
        """Wait until there is room, in the order of the calls."""
        self.check_usable()
        turn = asyncio.Event()
        self.turns.append(turn)
        try:
            async with deadline(
                self.limit_s(deadline_s), lambda: self._describe("there was no room")
            ):
                while True:
                    await turn.wait()
                    self.check_usable()
                    parcel = add()
                    if parcel is not None:
                        return parcel
                    # Rows that were estimated turned out to be heavier when they were sealed.
                    turn.clear()
        finally:
            self.turns.remove(turn)
            self._pass_on_room()

    def take_failure(self) -> PenstockError | InvalidAttribute | None:
        """The first failure that no call has claimed since this was last asked."""
        failure, self._failure = self._failure, None
        return failure

    def check_usable(self) -> None:
        """Raise what ended the publisher or the session."""
        end = self.end or self._session.failure
        if end is not None:
            raise end.with_traceback(None)

    def limit_s(self, deadline_s: float | None) -> float:
        """The deadline of a call: its own, or the client's."""
        return self._deadline_s if deadline_s is None else deadline_s

    # -- inside -----------------------------------------------------------------------------

    def _pass_on_room(self) -> None:
        if self.turns and (self._producer.has_room or self.end is not None):
            self.turns[0].set()

    def _settle(self) -> None:
        for parcel in self._producer.take_settled():
            claimed = 0
            for waiter, claim in self._waiters.pop(parcel, ()):
                if not waiter.done():
                    waiter.set_result(None)
                    claimed += claim
            failure = parcel.failure
            if failure is not None and claimed < parcel.size:
                logger.warning("publisher %r: %s", self._producer.name, failure)
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

    def _describe(self, what: str) -> str:
        producer = self._producer
        notice = producer.throttle
        slowed = (
            f", which allows {notice.allowed_msgs_per_s:g} messages/s because {notice.cause}"
            if notice is not None
            else ""
        )
        return (
            f"{what} for publisher {producer.name!r} "
            f"(pubend {producer.pubend or 'not known yet'}{slowed}; "
            f"{producer.held_bytes} bytes without a receipt); {self._session.describe()}"
        )

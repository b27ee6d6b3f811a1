"""Requests to the broker: each carries a number, and its answer the same.

1. A request whose answer did not come before the connection was lost fails with ``AnswerLost``:
   the client cannot know whether the broker carried it out.  A request that was not sent yet, or
   for which asking twice is the same as asking once (``Request.repeatable``), is sent on the next
   connection instead.
2. An answer to a request whose caller has given up is dropped.
3. An answer that nothing here asked for is a violation of the protocol.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.client.errors import AnswerLost, OutcomeUncertain, PenstockError, ProtocolViolation
from penstock.client.limits import check_request
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.core.clock import Instant
from penstock.core.message import REQUESTS, Answer, Message, Request


class _Asked(msgspec.Struct):
    """A request and who waits for its answer."""

    request: Request
    answered: asyncio.Future[Any]


class Requests:
    """The numbered requests of one client, to whichever service."""

    wants_room = False
    """Requests are small and are sent whatever room there is."""

    def __init__(self, session: Session) -> None:
        """Join the session."""
        self._session = session
        self._last_number = 0
        self._unsent: list[Message] = []
        self._unanswered: dict[int, _Asked] = {}
        session.join(REQUESTS, self)

    async def ask(self, request: Request, deadline_s: float) -> Any:
        """The answer, whatever it says; raises ``AnswerLost`` or ``DeadlineExceeded``."""
        if self._session.failure is not None:
            raise self._session.failure.with_traceback(None)
        self._last_number += 1
        number = self._last_number
        numbered = msgspec.structs.replace(request, request=number)
        check_request(numbered)
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._unanswered[number] = _Asked(numbered, answered)
        self._unsent.append(numbered)
        self._session.wake(REQUESTS)
        name = type(request).__name__
        try:
            async with deadline(
                deadline_s, lambda: f"no answer to {name}; {self._session.describe()}"
            ):
                return await answered
        finally:
            self._unanswered.pop(number, None)

    async def carry_out(self, request: Request, deadline_s: float, what: str = "") -> Any:
        """The answer to a request that was carried out; raises ``PenstockError`` if it was not.

        ``what`` says in the error what was not done.
        """
        answer = await self.ask(request, deadline_s)
        prefix = f"{what}: " if what else ""
        if answer.uncertain:
            raise OutcomeUncertain(
                f"{prefix}{type(request).__name__} may or may not be in force after a restart of "
                f"the broker: {answer.problem}"
            )
        if answer.problem:
            raise PenstockError(f"{prefix}{answer.problem}")
        return answer

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """Requests that were not sent are sent now."""

    def disconnected(self, reason: str) -> None:
        """Requests that were sent are not going to be answered."""
        unsent = {request.request for request in self._unsent if isinstance(request, Request)}
        lost = AnswerLost(f"the connection was lost before the answer came: {reason}")
        again = []
        for number, asked in self._unanswered.items():
            if number in unsent:
                continue
            if asked.request.repeatable:
                again.append(asked.request)
            elif not asked.answered.done():
                asked.answered.set_exception(lost)
        self._unsent[:0] = again

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """The requests that were not sent yet and whose answer is still waited for."""
        unsent, self._unsent = self._unsent, []
        return [each for each in unsent if getattr(each, "request", 0) in self._unanswered]

    def next_deadline(self) -> Instant | None:
        """Nothing here happens by time alone."""
        return None

    def received(self, message: Any) -> None:
        """An answer."""
        if not isinstance(message, Answer) or message.request > self._last_number:
            raise ProtocolViolation(f"no request asked for {type(message).__name__}")
        asked = self._unanswered.get(message.request)
        if asked is not None and not asked.answered.done():
            asked.answered.set_result(message)

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        for asked in self._unanswered.values():
            if not asked.answered.done():
                asked.answered.set_exception(error)

    async def farewell(self, deadline_s: float | None) -> None:
        """Requests without an answer fail when the session ends."""

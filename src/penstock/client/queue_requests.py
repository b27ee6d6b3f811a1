"""Requests about queues or groups: each carries a number, and its answer the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from penstock.client.errors import Disconnected, OutcomeUncertain, PenstockError
from penstock.client.limits import check_request
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.core.clock import Instant
from penstock.core.message import Message


class QueueRequests:
    """The requests of one client.  One that is not answered before the connection is lost fails:
    whether the broker acted on it is not known, so it is not asked again."""

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(self, session: Session, key: str) -> None:
        """Nothing was asked yet; ``key`` is what its answers are addressed to."""
        self._session = session
        self._key = key
        self._last_number = 0
        self._unsent: list[Message] = []
        self._unanswered: dict[int, asyncio.Future[Any]] = {}
        session.join(key, self)

    async def ask(self, make: Callable[[int], Message], deadline_s: float) -> Any:
        """The answer; raises ``PenstockError`` with the broker's word if it refuses."""
        if self._session.failure is not None:
            raise self._session.failure.with_traceback(None)
        self._last_number += 1
        number = self._last_number
        request = make(number)
        check_request(request)
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._unanswered[number] = answered
        self._unsent.append(request)
        self._session.wake(self._key)
        name = type(request).__name__
        try:
            async with deadline(
                deadline_s, lambda: f"no answer to {name}; {self._session.describe()}"
            ):
                answer = await answered
        finally:
            self._unanswered.pop(number, None)
        if getattr(answer, "uncertain", False):
            raise OutcomeUncertain(
                f"{name} holds now, and may not outlive a restart: {answer.problem}"
            )
        if answer.problem:
            raise PenstockError(answer.problem)
        return answer

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """What was not sent yet is sent now."""

    def disconnected(self, reason: str) -> None:
        """What was sent is not going to be answered."""
        self._fail(Disconnected(f"the connection was lost before the answer came: {reason}"))

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """The requests that were not sent yet."""
        out, self._unsent = self._unsent, []
        return out

    def next_deadline(self) -> Instant | None:
        """Nothing here happens by time alone."""
        return None

    def received(self, message: Any) -> None:
        """An answer; one that nobody waits for any more is dropped."""
        answered = self._unanswered.get(message.request)
        if answered is not None and not answered.done():
            answered.set_result(message)

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        self._fail(error)

    async def farewell(self, deadline_s: float | None) -> None:
        """Whoever still waits for an answer is told when the session ends."""

    def _fail(self, error: PenstockError) -> None:
        unsent = {message.request for message in self._unsent}  # type: ignore[attr-defined]
        for number, answered in list(self._unanswered.items()):
            if not answered.done() and (number not in unsent or self._session.failure):
                answered.set_exception(error)

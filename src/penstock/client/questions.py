"""Questions to the broker itself; those of one kind are answered in the order of their asking."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any, Final, TypeAlias

from penstock.client.errors import AnswerLost, PenstockError, ProtocolViolation
from penstock.client.limits import check_request
from penstock.client.session import Session
from penstock.client.waiting import deadline
from penstock.core.clock import Instant
from penstock.core.message import QUESTIONS, Message
from penstock.overlay.messages import LinkControl, LinkControlled, Status, StatusRequest
from penstock.services.datagram.messages import DatagramWhyReply, DatagramWhyRequest
from penstock.services.guaranteed.messages import (
    CursorMoved,
    DescribeStreams,
    MoveCursor,
    StreamsDescribed,
    WhyReply,
    WhyRequest,
)
from penstock.services.guaranteed.staging.messages import (
    CommitStages,
    DropStages,
    RowsStaged,
    StageRows,
    StagesCommitted,
    StagesDropped,
)

Question: TypeAlias = (
    StatusRequest
    | LinkControl
    | WhyRequest
    | DescribeStreams
    | MoveCursor
    | StageRows
    | CommitStages
    | DropStages
    | DatagramWhyRequest
)

ANSWERS: Final[dict[type[Message], type[Message]]] = {
    StatusRequest: Status,
    LinkControl: LinkControlled,
    WhyRequest: WhyReply,
    DescribeStreams: StreamsDescribed,
    MoveCursor: CursorMoved,
    StageRows: RowsStaged,
    CommitStages: StagesCommitted,
    DropStages: StagesDropped,
    DatagramWhyRequest: DatagramWhyReply,
}

ASKED_AGAIN: Final = (DescribeStreams, MoveCursor)
"""What a program asks that runs for days, and what does no harm if it was heard before."""

_Asked: TypeAlias = tuple[Message, asyncio.Future[Any]]


class Questions:
    """The questions of one client.

    A question that is not answered before the connection is lost fails: whether the broker acted
    on it is not known, so it is not asked again, unless asking twice is the same as asking once.
    """

    wants_room = False
    """All that it sends is small, and goes whatever room there is."""

    def __init__(self, session: Session) -> None:
        """Nothing was asked yet."""
        self._session = session
        self._unsent: deque[_Asked] = deque()
        self._unanswered: dict[type[Message], deque[_Asked]] = {
            answer: deque() for answer in ANSWERS.values()
        }
        session.join(QUESTIONS, self)

    async def ask(self, question: Question, deadline_s: float) -> Any:
        """The answer; raises ``AnswerLost``, ``DeadlineExceeded``, and what ended the session."""
        if self._session.failure is not None:
            raise self._session.failure.with_traceback(None)
        check_request(question)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._unsent.append((question, answer))
        self._session.wake(QUESTIONS)
        name = type(question).__name__
        async with deadline(deadline_s, lambda: f"no answer to {name}; {self._session.describe()}"):
            return await answer

    # -- the session's calls ----------------------------------------------------------------

    def connected(self) -> None:
        """What was not sent yet is sent now."""

    def disconnected(self, reason: str) -> None:
        """What was sent is not going to be answered."""
        for waiting in self._unanswered.values():
            again = [asked for asked in waiting if isinstance(asked[0], ASKED_AGAIN)]
            self._unsent.extendleft(reversed(again))
            for asked in again:
                waiting.remove(asked)
        self._fail(AnswerLost(f"the connection was lost before the answer came: {reason}"))

    def outgoing(self, now: Instant, room_bytes: int) -> list[Message]:
        """The questions that were not sent yet and that somebody still waits for."""
        out: list[Message] = []
        while self._unsent:
            question, answer = self._unsent.popleft()
            if not answer.done():
                self._unanswered[ANSWERS[type(question)]].append((question, answer))
                out.append(question)
        return out

    def next_deadline(self) -> Instant | None:
        """Nothing here happens by time alone."""
        return None

    def received(self, message: Any) -> None:
        """The answer to the oldest question of its kind."""
        waiting = self._unanswered.get(type(message))
        if not waiting:
            raise ProtocolViolation(f"nobody asked for {type(message).__name__}")
        _, answer = waiting.popleft()
        if not answer.done():
            answer.set_result(message)

    def ended(self, error: PenstockError) -> None:
        """No connection follows any more."""
        unsent, self._unsent = self._unsent, deque()
        self._fail(error, *(answer for _, answer in unsent))

    async def farewell(self, deadline_s: float | None) -> None:
        """Whoever still waits for an answer is told when the session ends."""

    def _fail(self, error: PenstockError, *further: asyncio.Future[Any]) -> None:
        unanswered = [answer for waiting in self._unanswered.values() for _, answer in waiting]
        for waiting in self._unanswered.values():
            waiting.clear()
        for answer in (*unanswered, *further):
            if not answer.done():
                answer.set_exception(error)

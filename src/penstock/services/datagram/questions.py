"""Questions that a broker passes on to a publisher: only the publisher knows what slows it down."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.machine import Effect, LinkName, Send
from penstock.core.why import Asker
from penstock.services.datagram.messages import (
    DatagramWhyAnswer,
    DatagramWhyQuestion,
)

MAX_OPEN_QUESTIONS: Final = 1024
"""Questions that wait for a publisher's answer; one more makes the oldest fail."""


class _OpenQuestion(msgspec.Struct, frozen=True):
    asker: Asker
    publisher: LinkName


class OpenQuestions:
    """The questions that were passed on and are not answered yet."""

    def __init__(self) -> None:
        self._open: dict[int, _OpenQuestion] = {}
        self._last = 0

    def ask(self, asker: Asker, publisher: LinkName) -> list[Effect]:
        """Pass a question on to the session of a publisher."""
        out: list[Effect] = []
        if len(self._open) >= MAX_OPEN_QUESTIONS:
            oldest = self._open.pop(next(iter(self._open)))
            problem = "too many questions are open at this broker: ask again"
            out.append(oldest.asker.refused(problem))
        self._last += 1
        self._open[self._last] = _OpenQuestion(asker, publisher)
        return [*out, Send(publisher, DatagramWhyQuestion(self._last))]

    def answer(self, session: LinkName, answer: DatagramWhyAnswer) -> list[Effect]:
        """Pass an answer on to the asker; only the session that was asked may answer."""
        question = self._open.get(answer.token)
        if question is None or question.publisher != session:
            return []
        del self._open[answer.token]
        return [question.asker.told(answer.document)]

    def session_closed(self, session: LinkName) -> list[Effect]:
        """Fail the questions to a publisher that is gone, and drop those of an asker."""
        out: list[Effect] = []
        for number, question in list(self._open.items()):
            if session not in (question.publisher, question.asker.session):
                continue
            del self._open[number]
            if session != question.asker.session:
                problem = "the publisher has disconnected"
                out.append(question.asker.refused(problem))
        return out

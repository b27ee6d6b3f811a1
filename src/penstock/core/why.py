"""The question that every service answers: what slows this down, or why is it behind?

A client asks its broker by name.  The broker asks its services in the order of the registry; the
first that knows the name answers, at once or when it has asked further.  If none does, the broker
answers with the names that there are.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from penstock.core.limits import Document, Name
from penstock.core.machine import LinkName, Priority, Send
from penstock.core.message import Answer, Request


class WhyRequest(Request, frozen=True):
    """Asks what slows a sender down, or why a reader is behind."""

    answer: ClassVar[str] = "WhyReply"

    name: Name


class WhyReply(Answer, frozen=True):
    """A JSON document of the service that knows the name; ``problem`` if none does."""

    service: Name = ""
    document: Document = b""


class Asker(msgspec.Struct, frozen=True):
    """Who waits for an explanation."""

    session: LinkName
    question: WhyRequest
    service: str

    def told(self, document: bytes) -> Send:
        """The answer, as JSON."""
        return self._reply(document, "")

    def refused(self, problem: str) -> Send:
        """The answer if there is none."""
        return self._reply(b"", problem)

    def _reply(self, document: bytes, problem: str) -> Send:
        reply = self.question.answered(self.service, document, problem=problem)
        return Send(self.session, reply, Priority.CONTROL)

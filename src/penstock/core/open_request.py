"""A numbered request whose answer is still due."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.core.machine import LinkName, Priority, Send
from penstock.core.message import Request


class OpenRequest(msgspec.Struct, frozen=True):
    """Who asked, and what: kept until the request can be answered."""

    session: LinkName
    request: Request

    def answer(self, *values: Any, problem: str = "", uncertain: bool = False) -> Send:
        """The answer with these values of its own fields."""
        reply = self.request.answered(*values, problem=problem, uncertain=uncertain)
        return Send(self.session, reply, Priority.CONTROL)

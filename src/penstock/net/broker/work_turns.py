"""Shares the broker's time among sessions with slow requests.

1. Most messages take microseconds, and a small number of them is handled immediately
   (``is_quick``).  Others may take milliseconds each, such as a subscription with a large selector;
   and a client can send thousands of either kind in one packet.
2. A session's requests are handled for ``SLICE_S`` at a time.  The rest stays in the session's
   backlog, and reading from the connection is paused, so that a backlog is at most one read.
3. Sessions with a backlog take turns.  Between two slices the event loop serves all other work:
   connections, timers, the disk.
4. The order of a session's messages never changes: new messages queue behind the backlog.

The time is measured here and not in the machine, which has no clock: a machine's answers do not
depend on it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final, Generic, Protocol, TypeVar

from penstock.core.message import ClientRequest, Message
from penstock.overlay.wire import vocabulary

QUICK: Final = frozenset(
    kind for kind in vocabulary(ClientRequest) if issubclass(kind, ClientRequest) and kind.quick
)
"""The messages of normal application traffic: a few are handled immediately, without measuring."""

MOST_QUICK: Final = 64
"""The most quick messages of one read; a client that fills its batches sends fewer.  Each takes
some 80 µs at most."""

AT_ONCE: Final = 16
"""Quick messages that are handed to the machine together, between two readings of the clock."""

SLICE_S: Final = 0.005
"""How long other sessions wait for one session, plus one request, whose cost is bounded."""


def is_quick(messages: list[Message]) -> bool:
    """Whether the messages of one read take so little time that they need no turns."""
    return len(messages) <= MOST_QUICK and QUICK.issuperset(map(type, messages))


class Working(Protocol):
    """A session that can have a backlog."""

    backlog: deque[Message]


S = TypeVar("S", bound=Working)


class WorkTurns(Generic[S]):
    """The sessions that have requests waiting."""

    def __init__(self, handle: Callable[[S, list[Message]], bool]) -> None:
        """``handle`` processes messages of a session; it returns False if the session has ended."""
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._turns: deque[tuple[S, Callable[[], None]]] = deque()
        self._scheduled = False

    def begin(self, session: S, messages: list[Message], done: Callable[[], None]) -> bool:
        """Handle messages for one slice; if some remain, return False and call ``done`` later."""
        session.backlog.extend(messages)
        if self._slice(session):
            return True
        self._turns.append((session, done))
        self._schedule()
        return False

    def _slice(self, session: S) -> bool:
        """Handle a backlog for one slice; returns whether it is empty."""
        until_s = perf_counter() + SLICE_S
        backlog = session.backlog
        while backlog:
            if not self._handle(session, _next_of(backlog)):
                backlog.clear()
            if perf_counter() >= until_s:
                break
        return not backlog

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._scheduled = False
        session, done = self._turns.popleft()
        if self._slice(session):
            done()
        else:
            self._turns.append((session, done))
        if self._turns:
            self._schedule()


def _next_of(backlog: deque[Message]) -> list[Message]:
    """Take the first message, and the messages behind it as long as all of them are quick."""
    messages = [backlog.popleft()]
    while (
        backlog
        and len(messages) < AT_ONCE
        and QUICK.issuperset((type(backlog[0]), type(messages[0])))
    ):
        messages.append(backlog.popleft())
    return messages

"""The broker's time, shared among sessions whose requests take long.

1. Most messages take microseconds, and a few of them are handled as they come (``is_quick``).
   Others may take milliseconds each, such as a subscription with a large selector; and of either
   kind a client can send thousands in one packet.
2. A session's requests are handled for ``SLICE_S`` at a time.  What is left waits in the session's
   own backlog, and the connection is not read meanwhile, so that a backlog is one read at most.
3. Sessions with a backlog take turns.  Between two slices the event loop looks after everybody
   else: connections, timers, the disk.
4. The order of a session's messages never changes: behind a backlog everything waits.

The time is measured here and not in the machine, which knows no clock: what a machine answers does
not depend on it.
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
"""What every message of an application comes to: a few are handled at once, and never measured."""

MOST_QUICK: Final = 64
"""Of one read; a client that fills its batches sends fewer.  Each takes some 80 µs at most."""

AT_ONCE: Final = 16
"""Quick messages that are handed to the machine together, between two looks at the clock."""

SLICE_S: Final = 0.005
"""How long others wait for one session, plus one request, which has a bounded cost of its own."""


def is_quick(messages: list[Message]) -> bool:
    """Whether the messages of one read take so little that nobody has to wait for them."""
    return len(messages) <= MOST_QUICK and QUICK.issuperset(map(type, messages))


class Working(Protocol):
    """A session that can have a backlog."""

    backlog: deque[Message]


S = TypeVar("S", bound=Working)


class WorkTurns(Generic[S]):
    """The sessions that have requests waiting."""

    def __init__(self, handle: Callable[[S, list[Message]], bool]) -> None:
        """``handle`` takes messages of a session; it says False when the session has ended."""
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._turns: deque[tuple[S, Callable[[], None]]] = deque()
        self._scheduled = False

    def begin(self, session: S, messages: list[Message], done: Callable[[], None]) -> bool:
        """Handle messages for a slice; False if some wait, and then ``done`` is called later."""
        session.backlog.extend(messages)
        if self._slice(session):
            return True
        self._turns.append((session, done))
        self._schedule()
        return False

    def _slice(self, session: S) -> bool:
        """Work on a backlog; whether it is empty."""
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
    """The first message; with it those behind it, if all of them are quick."""
    messages = [backlog.popleft()]
    while (
        backlog
        and len(messages) < AT_ONCE
        and QUICK.issuperset((type(backlog[0]), type(messages[0])))
    ):
        messages.append(backlog.popleft())
    return messages

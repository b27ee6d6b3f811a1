"""Cursors: named positions that keep the logs for readers that track their own progress.

A job that reads intervals (a Spark query with its checkpoint) is not a subscription: it gets only
what it requests.  It still needs the log to keep what it may have to read again.

1. A cursor is a tick for each pubend.  It only moves forward.
2. It is saved before it is confirmed, and only what is saved is claimed from the source.  A cursor
   that is new on a stream is confirmed when the source has saved the claim too.
3. It holds the log like a durable subscription at the same edge, connected or not, until it is
   moved or deleted, but never further back than ``holds_ns`` from now: ticks are time, and an
   abandoned job would otherwise keep the logs for ever.
4. A cursor is for retention alone: what the job reads is decided by the job's own checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, PersistFailed, PersistState, Send
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import DurableClaim, MoveCursor

PREFIX = "cursor/"
CURSORS = "cursors"
"""The owner of the orders to the store that are given here."""

NAME_LIMIT = 512
PUBEND_LIMIT = 10_000
"""Bounds of one cursor, which is kept in memory and on disk."""


class CursorState(msgspec.Struct, frozen=True):
    """Where a cursor stands, and when it was moved; None if that was before the broker started."""

    ticks: dict[str, Tick]
    moved_at: Instant | None


class Cursors:
    """The cursors of one edge."""

    def __init__(
        self, limit: int, tokens: Tokens, saved: Mapping[str, bytes], *, holds_ns: Duration
    ) -> None:
        """``saved`` is the state that was found; at most ``limit`` cursors are kept."""
        self._limit = limit
        self._holds_ns = holds_ns
        self._tokens = tokens
        self._saving: dict[int, tuple[OpenRequest, MoveCursor]] = {}
        self._moved_at: dict[str, Instant] = {}
        self._saved: dict[str, dict[str, Tick]] = {
            key.removeprefix(PREFIX): msgspec.msgpack.decode(value, type=dict[str, int])
            for key, value in sorted(saved.items())
            if key.startswith(PREFIX)
        }

    def move(self, session: LinkName, message: MoveCursor, now: Instant, out: list[Effect]) -> None:
        """Save a cursor's new position; the session is told when it is saved."""
        asked = OpenRequest(session, message)
        held = self._saved.get(message.cursor)
        problem = ""
        if len(message.cursor) > NAME_LIMIT or len(message.ticks) > PUBEND_LIMIT:
            problem = f"more than {NAME_LIMIT} characters, or {PUBEND_LIMIT} pubends"
        elif held is None and not message.forget and len(self._saved) >= self._limit:
            problem = f"this broker already keeps {self._limit} cursors, the most allowed"
        if problem:
            out.append(asked.answer(message.cursor, problem=problem))
            return
        ticks = dict(held or {})
        for pubend, tick in message.ticks.items():
            ticks[pubend] = max(tick, ticks.get(pubend, tick))
        if len(ticks) > PUBEND_LIMIT:
            problem = f"the cursor would stand on more than {PUBEND_LIMIT} pubends"
            out.append(asked.answer(message.cursor, problem=problem))
            return
        moved = MoveCursor(message.cursor, {} if message.forget else ticks, message.forget)
        token = self._tokens.take(CURSORS)
        self._saving[token] = (asked, moved)
        self._moved_at[message.cursor] = now
        value = None if message.forget else msgspec.msgpack.encode(ticks)
        out.append(PersistState(token, {PREFIX + message.cursor: value}))

    def resolved(
        self, token: int, failure: PersistFailed | None, out: list[Effect]
    ) -> tuple[Send, tuple[str, ...]] | None:
        """A position is saved, or was refused.

        Returns the confirmation, and the pubends on which the cursor is new.
        """
        asked, moved = self._saving.pop(token)
        held = self._saved.get(moved.cursor, {})
        if failure:
            reason, uncertain = failure.reason, failure.uncertain
            out.append(asked.answer(moved.cursor, held, problem=reason, uncertain=uncertain))
            return None
        if moved.forget:
            self._saved.pop(moved.cursor, None)
            self._moved_at.pop(moved.cursor, None)
        else:
            self._saved[moved.cursor] = moved.ticks
        fresh = tuple(pubend for pubend in moved.ticks if pubend not in held)
        return asked.answer(moved.cursor, moved.ticks), fresh

    def state(self, name: str) -> CursorState | None:
        """A cursor, or None."""
        ticks = self._saved.get(name)
        return None if ticks is None else CursorState(ticks, self._moved_at.get(name))

    def lowest(self, pubend: str, now: Instant) -> DurableClaim | None:
        """The claim of the cursor that reaches back furthest on a stream, if any."""
        oldest = now - self._holds_ns
        places = [
            (max(ticks[pubend], oldest), name)
            for name, ticks in self._saved.items()
            if pubend in ticks
        ]
        if not places:
            return None
        tick, name = min(places)
        return DurableClaim(tick, f"cursor {name!r}")

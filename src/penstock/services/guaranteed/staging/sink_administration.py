"""Lists the sinks of a broker, and deletes those that are retired.

1. A sink with a decision that is not published completely is not deleted.
2. A sink that is used again while its deletion is being saved stays: what was saved later counts.
"""

from __future__ import annotations

from itertools import islice

from penstock.core.clock import Instant
from penstock.core.machine import Effect, LinkName, PersistFailed, PersistState
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.staging.messages import (
    MOST_LISTED,
    ForgetSink,
    ListSinks,
    SinkDescription,
)
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_epoch import SINK_PREFIX, STAGING, SinkState


class SinkAdministration:
    """Answers requests about the sinks of one broker."""

    def __init__(self, tokens: Tokens, sinks: Sinks) -> None:
        self._tokens = tokens
        self._sinks = sinks
        self._deleting: dict[int, tuple[OpenRequest, str, SinkState]] = {}
        self.handlers: Handlers = {ListSinks: self._list, ForgetSink: self._forget}

    def _list(self, session: LinkName, request: ListSinks, now: Instant, out: list[Effect]) -> None:
        listed = tuple(
            SinkDescription(name, state.pubend, state.epoch, state.used_at, bool(state.decision))
            for name, state in islice(self._sinks.listed(), MOST_LISTED)
        )
        total, limit = len(self._sinks), self._sinks.limit
        out.append(OpenRequest(session, request).answer(listed, total, limit))

    def _forget(
        self, session: LinkName, request: ForgetSink, now: Instant, out: list[Effect]
    ) -> None:
        asked = OpenRequest(session, request)
        state = self._sinks.state(request.sink)
        if state.decision is not None:
            problem = f"sink {request.sink!r} is publishing epoch {state.decision.epoch}"
            out.append(asked.answer(request.sink, problem=problem))
        elif request.sink not in self._sinks:
            out.append(asked.answer(request.sink))
        else:
            token = self._tokens.take(STAGING)
            self._deleting[token] = (asked, request.sink, state)
            out.append(PersistState(token, {SINK_PREFIX + request.sink: None}))

    def ordered(self, token: int) -> bool:
        """Whether an order to the store was given here."""
        return token in self._deleting

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """A deletion is saved, or was refused."""
        asked, sink, state = self._deleting.pop(token)
        if failure:
            problem = f"the deletion of sink {sink!r} was not saved: {failure.reason}"
            out.append(asked.answer(sink, problem=problem, uncertain=failure.uncertain))
            return
        if self._sinks.state(sink) is state:
            self._sinks.deleted(sink)
        out.append(asked.answer(sink))

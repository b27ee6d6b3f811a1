"""Decides epochs: one small durable write names the rows that will be published.

1. A commit names the stages of an epoch and the number of rows that each must hold.  If one holds
   another number, nothing is decided.
2. A sink decides one epoch at a time.  A commit that is repeated while its decision is being saved
   waits for that decision.
3. The decision fixes the pubend and the numbers of the rows.
4. A sink that names no pubend stays at the one of its last epoch, whatever pubends are added here.
5. Whoever knows an earlier epoch of the sink says so (``follows``).  A broker that has no record of
   it refuses: the epoch may have been published where the record is, so it may be a repeat.
"""

from __future__ import annotations

import msgspec

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, Tick
from penstock.core.machine import Effect, PersistFailed
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.staging.messages import CommitStages, OpenEpoch
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.stage_table import StageKey, StageTable
from penstock.services.guaranteed.staging.staged_epoch import (
    STAGING,
    Decision,
    SinkState,
    producer_of,
)


class _Deciding(msgspec.Struct, frozen=True):
    """A decision that is being saved, and the request that waits for it."""

    sink: str
    state: SinkState
    decision: Decision
    asked: OpenRequest


class _Refusal(msgspec.Struct, frozen=True):
    """Why an epoch cannot be decided."""

    problem: str
    elsewhere: bool = False


class Commits:
    """The decisions of one broker that are being saved."""

    def __init__(self, tokens: Tokens, sinks: Sinks, table: StageTable, gate: StagingGate) -> None:
        self._tokens = tokens
        self._sinks = sinks
        self._table = table
        self._gate = gate
        self._deciding: dict[int, _Deciding] = {}

    def open(self, asked: OpenRequest, request: OpenEpoch, out: list[Effect]) -> None:
        """Tell a writer what a commit of its epoch would be told, before it stages anything."""
        sink, epoch, state = request.sink, request.epoch, self._sinks.state(request.sink)
        wish = request.pubend or state.pubend
        if state.covers(epoch):
            out.append(asked.answer(sink, epoch, True))
        elif self._gate.choose(sink, wish):
            out.append(asked.answer(sink, epoch))
        else:
            problem = self._gate.not_hosted(wish)
            out.append(asked.answer(sink, epoch, False, True, problem=problem))

    def commit(
        self, asked: OpenRequest, request: CommitStages, now: Instant, out: list[Effect]
    ) -> None:
        """Decide an epoch that is neither published nor being published."""
        sink, epoch = request.sink, request.epoch
        if self._is_repeat(asked, sink, epoch):
            return
        state = self._sinks.state(sink)
        found = self._objection(request, state) or self._decide(request, state)
        if isinstance(found, _Refusal):
            out.append(asked.answer(sink, epoch, 0, found.elsewhere, problem=found.problem))
            return
        token = self._tokens.take(STAGING)
        once = request.once and (state.once or sink not in self._sinks)
        decided = msgspec.structs.replace(
            state, decision=found, pubend=found.pubend, used_at=now, once=once
        )
        self._deciding[token] = _Deciding(sink, decided, found, asked)
        out.append(self._sinks.save(token, sink, decided))

    def _is_repeat(self, asked: OpenRequest, sink: str, epoch: int) -> bool:
        """Whether the same commit is being saved; if so, this request waits for it instead."""
        for token, each in self._deciding.items():
            if each.sink == sink and each.decision.epoch == epoch:
                self._deciding[token] = msgspec.structs.replace(each, asked=asked)
                return True
        return False

    def _objection(self, request: CommitStages, state: SinkState) -> _Refusal | None:
        """Why this sink cannot decide an epoch at present."""
        sink = request.sink
        if state.decision is not None or any(each.sink == sink for each in self._deciding.values()):
            return _Refusal(
                f"sink {sink!r} is still publishing an earlier epoch; commit again later"
            )
        if request.follows is not None and state.epoch < request.follows:
            return _Refusal(self._unknown_epochs(request, state))
        if not request.once and sink not in self._sinks and self._sinks.is_full(self._arriving()):
            return _Refusal(
                f"this broker remembers {self._sinks.limit} sinks (sink_limit) and drops none, "
                "because a repeated epoch would be published twice: delete those that are "
                "retired (penstock sinks), or raise sink_limit"
            )
        return None

    @staticmethod
    def _unknown_epochs(request: CommitStages, state: SinkState) -> str:
        known = f"none after epoch {state.epoch}" if state.epoch >= 0 else "none"
        return (
            f"epoch {request.epoch} of sink {request.sink!r} follows epoch {request.follows}, but "
            f"of its epochs this broker knows {known}: they were published by another broker, or "
            "the sink was deleted here, so that a repeat could not be recognised; commit at the "
            "broker that knows the sink (penstock sinks)"
        )

    def _arriving(self) -> int:
        """The sinks that will take a place when their first decision is saved."""
        return sum(
            not each.state.once and each.sink not in self._sinks for each in self._deciding.values()
        )

    def _decide(self, request: CommitStages, state: SinkState) -> Decision | _Refusal:
        """The decision, or why there can be none."""
        sink = request.sink
        pubend = self._gate.choose(sink, request.pubend or state.pubend)
        if not pubend:
            return _Refusal(self._gate.not_hosted(request.pubend or state.pubend), elsewhere=True)
        pieces: list[Interval] = []
        rows = 0
        for name, expected in request.stages:
            stage = self._table.get(StageKey(sink, request.epoch, name))
            held = 0 if stage is None else stage.durable_rows
            if held != expected:
                return _Refusal(
                    f"stage {name!r} of epoch {request.epoch} holds {held} rows instead of "
                    f"{expected}: it was dropped or has expired; stage the epoch again"
                )
            if stage is not None:
                pieces += stage.pieces
            rows += expected
        # A sink that was deleted and came back must not use numbers that are taken.
        free = self._gate.next_sequence(pubend, producer_of(sink))
        first = max(state.next_sequence, free)
        return Decision(request.epoch, pubend, first, rows, tuple(pieces))

    def ordered(self, token: int) -> bool:
        """Whether an order to the store was given here."""
        return token in self._deciding

    def resolved(
        self, token: int, failure: PersistFailed | None, out: list[Effect]
    ) -> tuple[str, Decision, OpenRequest] | None:
        """A decision is saved: returns sink, decision and the request that waits; or it failed."""
        deciding = self._deciding.pop(token)
        sink, decision = deciding.sink, deciding.decision
        if failure:
            problem = f"the decision was not saved: {failure.reason}"
            uncertain = failure.uncertain
            out.append(
                deciding.asked.answer(sink, decision.epoch, 0, problem=problem, uncertain=uncertain)
            )
            return None
        self._sinks.decided(sink, deciding.state)
        return sink, decision, deciding.asked

    def needed_ticks(self) -> list[Tick]:
        """Where the rows of decisions that are being saved stand in the staging log."""
        return [low for each in self._deciding.values() for low, _ in each.decision.pieces]

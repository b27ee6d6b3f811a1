"""Decides epochs: one small durable write names the rows that will be published.

1. A commit names the stages of an epoch and the number of rows that each must hold.  If one holds
   another number, nothing is decided.
2. A sink decides one epoch at a time.  A commit that is repeated while its decision is being saved
   waits for that decision.
3. The decision fixes the pubend and the numbers of the rows.
"""

from __future__ import annotations

import msgspec

from penstock.core.intervals import Interval, Tick
from penstock.core.machine import Effect, PersistFailed
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.staging.messages import CommitStages
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
    decision: Decision
    asked: OpenRequest


class Commits:
    """The decisions of one broker that are being saved."""

    def __init__(self, tokens: Tokens, sinks: Sinks, table: StageTable, gate: StagingGate) -> None:
        self._tokens = tokens
        self._sinks = sinks
        self._table = table
        self._gate = gate
        self._deciding: dict[int, _Deciding] = {}

    def commit(self, asked: OpenRequest, request: CommitStages, out: list[Effect]) -> None:
        """Decide an epoch that is neither published nor being published."""
        sink, epoch = request.sink, request.epoch
        if self._is_repeat(asked, sink, epoch):
            return
        state = self._sinks.state(sink)
        found = self._decide(request, state)
        if isinstance(found, str):
            out.append(asked.answer(sink, epoch, 0, problem=found))
            return
        token = self._tokens.take(STAGING)
        self._deciding[token] = _Deciding(sink, found, asked)
        out.append(self._sinks.save(token, sink, msgspec.structs.replace(state, decision=found)))

    def _is_repeat(self, asked: OpenRequest, sink: str, epoch: int) -> bool:
        """Whether the same commit is being saved; if so, this request waits for it instead."""
        for token, each in self._deciding.items():
            if each.sink == sink and each.decision.epoch == epoch:
                self._deciding[token] = _Deciding(sink, each.decision, asked)
                return True
        return False

    def _decide(self, request: CommitStages, state: SinkState) -> Decision | str:
        """The decision, or why there can be none."""
        sink = request.sink
        if state.decision is not None or any(each.sink == sink for each in self._deciding.values()):
            return f"sink {sink!r} is still publishing an earlier epoch; commit again later"
        pubend = self._gate.choose(sink, request.pubend)
        if not pubend:
            wanted = f"no pubend {request.pubend!r}" if request.pubend else "no pubend"
            return f"this broker hosts {wanted} (it hosts: {self._gate.names()})"
        pieces: list[Interval] = []
        rows = 0
        for name, expected in request.stages:
            stage = self._table.get(StageKey(sink, request.epoch, name))
            held = 0 if stage is None else stage.durable_rows
            if held != expected:
                return (
                    f"stage {name!r} of epoch {request.epoch} holds {held} rows instead of "
                    f"{expected}: it was dropped or has expired; stage the epoch again"
                )
            if stage is not None:
                pieces += stage.pieces
            rows += expected
        # A sink that was forgotten and came back must not use numbers that are taken.
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
        self._sinks.decided(sink, decision)
        return sink, decision, deciding.asked

    def needed_ticks(self) -> list[Tick]:
        """Where the rows of decisions that are being saved stand in the staging log."""
        return [low for each in self._deciding.values() for low, _ in each.decision.pieces]

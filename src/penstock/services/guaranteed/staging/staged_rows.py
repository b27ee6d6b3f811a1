"""Writes staged rows to the staging log, and answers their writers.

1. The rows of a stage are numbered; a piece must follow the rows that the stage holds.  A piece
   that the stage holds already is a repeat: a writer that lost its connection sends it again.
2. A piece is confirmed when the stage is durable.
3. Rows for an epoch that was decided are not staged; their writer is told so.
"""

from __future__ import annotations

from penstock.content.rows.frame import Frame
from penstock.core.clock import Instant
from penstock.core.intervals import Tick
from penstock.core.machine import Effect, LinkName, Persist, PersistFailed
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import LogEntry
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.staging.messages import StageRows
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.stage_table import Stage, StageKey, StageTable
from penstock.services.guaranteed.staging.staged_epoch import STAGING


class StagedRows:
    """The stages of one broker, and their rows that are in flight to the disk."""

    def __init__(
        self, parameters: GuaranteedParameters, tokens: Tokens, sinks: Sinks, end: Tick
    ) -> None:
        """``end`` is the end of the staging log that was found."""
        self.table = StageTable()
        self.end = end
        self._parameters = parameters
        self._tokens = tokens
        self._sinks = sinks
        self._in_flight: dict[int, tuple[StageKey, OpenRequest]] = {}

    def recovered(self, entry: LogEntry, now: Instant) -> None:
        """Take over rows that were staged before the broker started."""
        key, frame = StageKey.parse(entry.producer), entry.frame
        if not self._sinks.is_decided(key.sink, key.epoch):
            piece = (frame.low, frame.high)
            stage = self.table.add(key, piece, len(frame), frame.weight, now)
            stage.durable_rows = stage.rows

    def stage(self, session: LinkName, request: StageRows, now: Instant, out: list[Effect]) -> None:
        """Store rows of a stage."""
        key = StageKey(request.sink, request.epoch, request.stage)
        asked = OpenRequest(session, request)
        if self._sinks.is_decided(key.sink, key.epoch):
            self._answer(asked, key, 0, out, decided=True)
            return
        stage = self.table.get(key)
        held = 0 if stage is None else stage.rows
        count = len(request.batch)
        if stage is not None and request.first_row + count <= held:
            self._repeat(asked, key, stage, out)
            return
        low, high = self.end, self.end + count
        frame = Frame(low, high, range(low, high), request.batch)
        problem = self._objection(request, stage, frame)
        if problem:
            self._answer(asked, key, held, out, problem=problem)
            return
        self.end = high
        self.table.add(key, (low, high), count, frame.weight, now)
        token = self._tokens.take(STAGING)
        self._in_flight[token] = (key, asked)
        out.append(Persist(token, STAGING, LogEntry(key.text(), request.first_row, frame)))

    def _objection(self, request: StageRows, stage: Stage | None, frame: Frame) -> str:
        """Why rows cannot be staged; empty if they can."""
        held = 0 if stage is None else stage.rows
        if request.first_row != held:
            return (
                f"stage {request.stage!r} holds {held} rows, and these begin with row "
                f"{request.first_row}; stage it from row 0 again"
            )
        stages, parameters = len(self.table), self._parameters
        if stage is None and stages >= parameters.stage_limit:
            return f"{stages} stages wait for a commit, the most allowed (stage_limit)"
        limit = parameters.staging_limit_bytes
        if self.table.size_bytes + frame.weight > limit:
            return f"staging_limit_bytes ({limit}) is used up by rows that wait for a commit"
        return ""

    def _repeat(self, asked: OpenRequest, key: StageKey, stage: Stage, out: list[Effect]) -> None:
        """Confirm a repeat, or let its session wait for the rows in flight."""
        if stage.durable_rows == stage.rows:
            self._answer(asked, key, stage.rows, out)
            return
        for token, (pending, _) in self._in_flight.items():
            if pending == key:
                self._in_flight[token] = (key, asked)

    def ordered(self, token: int) -> bool:
        """Whether an order to the store was given here."""
        return token in self._in_flight

    def resolved(self, token: int, failure: PersistFailed | None, out: list[Effect]) -> None:
        """Rows are durable, or were refused."""
        key, asked = self._in_flight.pop(token)
        stage = self.table.get(key)
        if failure:
            self.table.drop(key)
            problem = f"the rows were not stored: {failure.reason}"
            self._answer(asked, key, 0, out, problem=problem, uncertain=failure.uncertain)
        elif stage is None:
            self._answer(asked, key, 0, out, problem=f"stage {key.stage!r} was dropped")
        else:
            if not any(pending == key for pending, _ in self._in_flight.values()):
                stage.durable_rows = stage.rows
            self._answer(asked, key, stage.durable_rows, out)

    def _answer(
        self,
        asked: OpenRequest,
        key: StageKey,
        rows: int,
        out: list[Effect],
        *,
        decided: bool = False,
        problem: str = "",
        uncertain: bool = False,
    ) -> None:
        values = (key.sink, key.epoch, key.stage, rows, decided)
        out.append(asked.answer(*values, problem=problem, uncertain=uncertain))

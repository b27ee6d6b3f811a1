"""Publishing many rows of many writers all or none, once, whatever crashes.

1. Writers stage their rows: they are durable in the broker's staging log and visible to nobody.
2. A commit names the stages that make up an epoch.  It is decided by one small durable write, which
   names their places in the log.  Before that write nothing of the epoch is published; after it
   everything will be, even if the broker crashes at once: it goes on from the decision.
3. Decided rows are published by the broker itself, piece by piece, through the same gate as every
   publisher's, under a producer name of the sink and numbers that the decision fixed.  Pieces that
   are published again after a crash are recognised by their numbers and stored once.
4. The commit is confirmed when every row is published.  The sink's last epoch stays known: staging
   or committing it again does nothing and is confirmed at once.
5. What is staged and never committed is dropped: by the next commit of its sink, when told so, or
   when nobody has touched it for ``stage_expiry_ns``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND, Duration, Instant, earliest
from penstock.core.intervals import Interval, IntervalSet, Tick
from penstock.core.machine import (
    Effect,
    InvariantBroken,
    LinkName,
    LogRead,
    Persist,
    PersistFailed,
    PersistState,
    Priority,
    ReadLog,
    Send,
    TrimLog,
)
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.messages import LogEntry, Publish, PublishReceipt, PublishRefused
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.staging.messages import (
    CommitStages,
    DropStages,
    RowsStaged,
    StageRows,
    StagesCommitted,
    StagesDropped,
)
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.stage_table import StageKey, StageTable
from penstock.services.guaranteed.staging.staged_epoch import (
    SINK_PREFIX,
    Decision,
    Publishing,
    SinkState,
    producer_of,
    sink_of,
)

STAGING: Final = "staging"
"""The log, and the owner of the orders that are given here."""

RETRY: Final[Duration] = SECOND
"""A publication that the pubend refuses (a full disk, a full buffer) is tried again so often."""

ASK_AGAIN: Final[Duration] = SECOND // 10
"""Requests that came before the broker had read its logs are looked at so often."""

EARLY_LIMIT: Final = 1000
"""So many requests wait for the broker to know its logs; more are refused."""

NAME_LIMIT: Final = 512
"""Characters of a sink's and a stage's name: they are kept, in memory and on disk."""

Request: TypeAlias = StageRows | CommitStages | DropStages


class Staging:
    """The staging log of one broker and the sinks that use it."""

    def __init__(
        self,
        parameters: GuaranteedParameters,
        tokens: Tokens,
        gate: StagingGate,
        *,
        saved: Mapping[str, bytes],
        log_bounds: tuple[Tick, Tick, int] | None,
        now: Instant,
    ) -> None:
        """``saved`` and ``log_bounds`` are what was found on the disk."""
        self._parameters = parameters
        self._tokens = tokens
        self._gate = gate
        self._table = StageTable()
        self._read_to, self._end, _ = log_bounds or (now, now, 0)
        self._trimmed_to = self._read_to
        self._sinks: OrderedDict[str, SinkState] = OrderedDict(
            (key.removeprefix(SINK_PREFIX), msgspec.msgpack.decode(value, type=SinkState))
            for key, value in sorted(saved.items())
            if key.startswith(SINK_PREFIX)
        )
        self._early: list[tuple[LinkName, Request]] = []
        self._early_at: Instant = now
        self._staging: dict[int, tuple[StageKey, LinkName]] = {}
        self._deciding: dict[int, tuple[str, Decision, LinkName]] = {}
        self._finishing: dict[int, tuple[str, SinkState]] = {}
        self._publishing: dict[str, Publishing] = {}
        self._reading: dict[int, str] = {}
        self._recovery_token: int | None = None
        self._retries: dict[str, Instant] = {}

    # -- recovery ---------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Read what was staged, and then go on with what was decided."""
        out: list[Effect] = []
        self._recover(self._early_at, out)
        return out

    def _recover(self, now: Instant, out: list[Effect]) -> None:
        if self._read_to < self._end:
            self._recovery_token = self._tokens.take(STAGING)
            limit = self._parameters.answer_bytes
            out.append(ReadLog(self._recovery_token, STAGING, self._read_to, self._end, limit))
            return
        self._recovery_token = None
        for sink, state in self._sinks.items():
            if state.decision is not None:
                self._begin(sink, state.decision, now, out)
        self._hear_early(now, out)

    def _hear_early(self, now: Instant, out: list[Effect]) -> None:
        """What was asked before the broker knew its logs."""
        early, self._early = self._early, []
        for session, request in early:
            self.received(session, request, now, out)

    def _recovered(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        for entry in fact.frames:
            key = StageKey.parse(entry.producer)
            frame = entry.frame
            if frame.low >= self._read_to and not self._is_decided(key.sink, key.epoch):
                piece = (frame.low, frame.high)
                stage = self._table.add(key, piece, len(frame), frame.weight, now)
                stage.durable_rows = stage.rows
        # A read that failed tells nothing; it is repeated from where it stood.
        self._read_to = max(self._read_to, fact.complete_to)
        self._recover(now, out)

    # -- requests ---------------------------------------------------------------------------

    def received(
        self, session: LinkName, request: Request, now: Instant, out: list[Effect]
    ) -> None:
        """A client's word; it waits until the broker knows what it stored before it started."""
        if len(request.sink) > NAME_LIMIT or len(getattr(request, "stage", "")) > NAME_LIMIT:
            self._refuse(session, request, f"a name is longer than {NAME_LIMIT} characters", out)
            return
        if self._recovery_token is not None or not self._gate.ready:
            if len(self._early) >= EARLY_LIMIT:
                self._refuse(session, request, "the broker is still starting; try again", out)
                return
            self._early.append((session, request))
            self._early_at = now + ASK_AGAIN
            return
        match request:
            case StageRows():
                self._stage(session, request, now, out)
            case CommitStages():
                self._commit(session, request, now, out)
            case DropStages(sink=sink, epoch=epoch):
                if not self._is_decided(sink, epoch):
                    self._table.drop_epoch(sink, epoch)
                    self._trim(out)
                out.append(Send(session, StagesDropped(sink, epoch), Priority.CONTROL))

    def _refuse(self, session: LinkName, request: Request, problem: str, out: list[Effect]) -> None:
        sink, epoch = request.sink, request.epoch
        reply: RowsStaged | StagesCommitted | StagesDropped
        match request:
            case StageRows(stage=stage):
                reply = RowsStaged(sink, epoch, stage, 0, problem=problem)
            case CommitStages():
                reply = StagesCommitted(sink, epoch, 0, problem)
            case _:
                reply = StagesDropped(sink, epoch, problem)
        out.append(Send(session, reply, Priority.CONTROL))

    def _is_decided(self, sink: str, epoch: int) -> bool:
        return self._sinks.get(sink, SinkState()).covers(epoch)

    def _stage(
        self, session: LinkName, request: StageRows, now: Instant, out: list[Effect]
    ) -> None:
        key = StageKey(request.sink, request.epoch, request.stage)
        if self._is_decided(key.sink, key.epoch):
            self._answer(session, key, 0, out, decided=True)
            return
        stage = self._table.get(key)
        held = 0 if stage is None else stage.rows
        count = len(request.batch)
        if stage is not None and request.first_row + count <= held:
            self._repeat(session, key, stage.durable_rows == stage.rows, stage.rows, out)
            return
        if request.first_row != held:
            problem = (
                f"stage {key.stage!r} holds {held} rows, and these begin with row "
                f"{request.first_row}; stage it anew"
            )
            self._answer(session, key, held, out, problem=problem)
            return
        low, high = self._end, self._end + count
        frame = Frame(low, high, range(low, high), request.batch)
        if stage is None and len(self._table) >= self._parameters.stage_limit:
            problem = f"{len(self._table)} stages wait for a commit, the most allowed (stage_limit)"
            self._answer(session, key, held, out, problem=problem)
            return
        limit = self._parameters.staging_limit_bytes
        if self._table.size_bytes + frame.weight > limit:
            problem = f"staging_limit_bytes ({limit}) is used up by rows that wait for a commit"
            self._answer(session, key, held, out, problem=problem)
            return
        self._end = high
        self._table.add(key, (low, high), count, frame.weight, now)
        token = self._tokens.take(STAGING)
        self._staging[token] = (key, session)
        entry = LogEntry(key.text(), request.first_row, frame)
        out.append(Persist(token, STAGING, entry))

    def _repeat(
        self, session: LinkName, key: StageKey, durable: bool, rows: int, out: list[Effect]
    ) -> None:
        """A writer that lost its connection says something again."""
        if durable:
            self._answer(session, key, rows, out)
            return
        for token, (pending, _) in self._staging.items():
            if pending == key:
                self._staging[token] = (key, session)

    def _answer(
        self,
        session: LinkName,
        key: StageKey,
        rows: int,
        out: list[Effect],
        *,
        decided: bool = False,
        problem: str = "",
    ) -> None:
        reply = RowsStaged(key.sink, key.epoch, key.stage, rows, decided, problem)
        out.append(Send(session, reply, Priority.CONTROL))

    # -- deciding ---------------------------------------------------------------------------

    def _commit(
        self, session: LinkName, request: CommitStages, now: Instant, out: list[Effect]
    ) -> None:
        sink, epoch = request.sink, request.epoch
        state = self._sinks.get(sink, SinkState())
        under_way = self._publishing.get(sink)
        if epoch <= state.epoch:
            out.append(Send(session, StagesCommitted(sink, epoch, 0), Priority.CONTROL))
        elif under_way is not None and under_way.decision.epoch == epoch:
            under_way.waiting.append(session)
        elif not self._is_being_decided(session, sink, epoch):
            found = self._decide(request, state)
            if isinstance(found, str):
                out.append(Send(session, StagesCommitted(sink, epoch, 0, found), Priority.CONTROL))
                return
            token = self._tokens.take(STAGING)
            self._deciding[token] = (sink, found, session)
            self._save(token, sink, msgspec.structs.replace(state, decision=found), out)

    def _is_being_decided(self, session: LinkName, sink: str, epoch: int) -> bool:
        """Whether the same commit is being saved; if so, this session hears of it instead."""
        for token, (name, decision, _) in self._deciding.items():
            if name == sink and decision.epoch == epoch:
                self._deciding[token] = (sink, decision, session)
                return True
        return False

    def _decide(self, request: CommitStages, state: SinkState) -> Decision | str:
        """The decision, or why there can be none."""
        sink = request.sink
        if state.decision is not None or any(each[0] == sink for each in self._deciding.values()):
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

    def _save(self, token: int, sink: str, state: SinkState, out: list[Effect]) -> None:
        values: dict[str, bytes | None] = {SINK_PREFIX + sink: msgspec.msgpack.encode(state)}
        if sink not in self._sinks and len(self._sinks) >= self._parameters.sink_limit:
            # The sink that committed longest ago makes room; one that is at work never does.
            idle = (name for name, each in self._sinks.items() if each.decision is None)
            idlest = next(idle, None)
            if idlest is not None:
                del self._sinks[idlest]
                values[SINK_PREFIX + idlest] = None
        out.append(PersistState(token, values))

    # -- the store's word -------------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """Something is durable, or was refused."""
        if token in self._staging:
            self._staged(*self._staging.pop(token), failure, out)
        elif token in self._deciding:
            sink, decision, session = self._deciding.pop(token)
            if failure:
                reply = StagesCommitted(
                    sink,
                    decision.epoch,
                    0,
                    f"the decision was not saved: {failure.reason}",
                    failure.uncertain,
                )
                out.append(Send(session, reply, Priority.CONTROL))
                return
            before = self._sinks.get(sink, SinkState())
            self._sinks[sink] = msgspec.structs.replace(before, decision=decision)
            self._begin(sink, decision, now, out).waiting.append(session)
            self._advance(sink, now, out)
        elif token in self._finishing:
            sink, state = self._finishing.pop(token)
            if failure:
                self._retries[sink] = now + RETRY
            else:
                self._finished(sink, state, out)

    def _staged(
        self, key: StageKey, session: LinkName, failure: PersistFailed | None, out: list[Effect]
    ) -> None:
        stage = self._table.get(key)
        if failure:
            self._table.drop(key)
            reply = RowsStaged(
                key.sink,
                key.epoch,
                key.stage,
                0,
                problem=f"the rows were not stored: {failure.reason}",
                uncertain=failure.uncertain,
            )
            out.append(Send(session, reply, Priority.CONTROL))
        elif stage is None:
            self._answer(session, key, 0, out, problem=f"stage {key.stage!r} was dropped")
        else:
            if not any(pending == key for pending, _ in self._staging.values()):
                stage.durable_rows = stage.rows
            self._answer(session, key, stage.durable_rows, out)

    # -- publishing -------------------------------------------------------------------------

    def _begin(self, sink: str, decision: Decision, now: Instant, out: list[Effect]) -> Publishing:
        publishing = self._publishing[sink] = Publishing(decision)
        self._table.drop_epoch(sink, decision.epoch)
        self._retries[sink] = now
        return publishing

    def _advance(self, sink: str, now: Instant, out: list[Effect]) -> None:
        """Read the next piece, or finish."""
        self._retries.pop(sink, None)
        publishing = self._publishing[sink]
        decision = publishing.decision
        token = self._tokens.take(STAGING)
        piece = publishing.next_piece
        if piece is not None:
            self._reading[token] = sink
            out.append(ReadLog(token, STAGING, *piece, self._parameters.answer_bytes))
            return
        state = SinkState(decision.epoch, decision.first_sequence + decision.rows)
        self._finishing[token] = (sink, state)
        self._save(token, sink, state, out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """The store answered: a part of the recovery, or the next piece to publish."""
        if fact.token == self._recovery_token:
            self._recovered(fact, now, out)
            return
        sink = self._reading.pop(fact.token)
        publishing = self._publishing[sink]
        if fact.lost and not fact.frames:
            publishing.piece_lost()
            self._advance(sink, now, out)
            return
        if not fact.frames or not self._gate.has(publishing.decision.pubend):
            self._retries[sink] = now + RETRY
            return
        batch = fact.frames[0].frame.batch
        decision = publishing.decision
        publication = Publish(producer_of(sink), publishing.sequence, batch)
        first = publishing.sequence
        publishing.unconfirmed = IntervalSet([(first, first + len(batch))])
        self._gate.publish(decision.pubend, publication, now, out)

    def answered(
        self, message: PublishReceipt | PublishRefused, now: Instant, out: list[Effect]
    ) -> None:
        """The pubend's word on a piece."""
        sink = sink_of(message.producer)
        publishing = self._publishing.get(sink)
        if publishing is None:
            return
        if isinstance(message, PublishRefused):
            self._retries[sink] = now + RETRY
            return
        first, end = message.first_sequence, message.first_sequence + message.count
        publishing.unconfirmed.remove(first, end)
        if not len(publishing.unconfirmed) and sink not in self._retries:
            publishing.piece_published()
            self._advance(sink, now, out)

    def _finished(self, sink: str, state: SinkState, out: list[Effect]) -> None:
        publishing = self._publishing.pop(sink)
        self._sinks[sink] = state
        self._sinks.move_to_end(sink)
        self._trim(out)
        lost = publishing.lost_rows
        problem = (
            f"{lost} of the epoch's rows were damaged on the disk before they were published; "
            "the others are published"
            if lost
            else ""
        )
        reply = StagesCommitted(sink, state.epoch, publishing.decision.rows - lost, problem)
        out += [Send(session, reply, Priority.CONTROL) for session in publishing.waiting]

    def _trim(self, out: list[Effect]) -> None:
        """Give back the beginning of the log that nobody needs."""
        decisions = [each.decision for each in self._publishing.values()]
        decisions += [each for _, each, _ in self._deciding.values()]
        needed = [low for each in decisions for low, _ in each.pieces]
        staged = self._table.lowest()
        below = min([*needed, self._end if staged is None else staged])
        if below > self._trimmed_to and self._recovery_token is None:
            self._trimmed_to = below
            out.append(TrimLog(STAGING, below))

    # -- time -------------------------------------------------------------------------------

    def session_closed(self, session: LinkName) -> None:
        """Nobody hears the answers for this session any more; what was decided goes on."""
        self._early = [entry for entry in self._early if entry[0] != session]
        for publishing in self._publishing.values():
            publishing.waiting = [each for each in publishing.waiting if each != session]

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Try again what was refused, and drop what nobody wants."""
        if self._early and now >= self._early_at:
            self._hear_early(now, out)
        for sink in [sink for sink, at in self._retries.items() if at <= now]:
            self._advance(sink, now, out)
        if self._table.expire(now, self._parameters.stage_expiry_ns):
            self._trim(out)

    def next_deadline(self) -> Instant | None:
        """When something is to be tried again, or a stage is too old."""
        if not self._retries and not self._early and not self._table:
            return None  # Asked after every message, and mostly nothing is staged.
        return earliest(
            min(self._retries.values(), default=None),
            self._early_at if self._early else None,
            self._table.first_expiry(self._parameters.stage_expiry_ns),
        )

    def check_invariants(self) -> None:
        """The log is trimmed behind nothing that is needed."""
        staged = self._table.lowest()
        if staged is not None and staged < self._trimmed_to:
            raise InvariantBroken(f"staging: trimmed to {self._trimmed_to}, staged from {staged}")

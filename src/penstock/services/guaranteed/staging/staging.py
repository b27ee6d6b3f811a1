"""Publishes the rows of many writers all or none, once, whatever crashes.

1. Writers stage their rows (``staged_rows``): they are durable in the broker's staging log, and no
   subscriber sees them.
2. A commit names the stages that make up an epoch.  It is decided by one small durable write
   (``commits``), which names their places in the log.  Before that write nothing of the epoch is
   published; after it everything will be, even if the broker crashes at once: it continues from the
   decision.
3. Decided rows are published by the broker itself (``epoch_publisher``), piece by piece, through
   the same gate as all publications, under a producer name of the sink and numbers that the
   decision fixed.  Pieces that are published again after a crash are recognised by their numbers
   and stored once.
4. The commit is confirmed when every row is published.  The sink's last epoch stays known until
   an operator deletes the sink (``sinks``): staging or committing it again does nothing and is
   confirmed at once.
5. Rows that are staged and never committed are dropped: by the next commit of their sink, on
   request (``DropStages``), or when their stage was not touched for ``stage_expiry_ns``.
6. Requests that arrive before the broker has read its logs wait, up to a limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from penstock.core.clock import SECOND, Duration, Instant, earliest
from penstock.core.intervals import Tick
from penstock.core.machine import (
    Effect,
    InvariantBroken,
    LinkName,
    LogRead,
    PersistFailed,
    ReadLog,
    TrimLog,
)
from penstock.core.open_request import OpenRequest
from penstock.core.tokens import Tokens
from penstock.services.guaranteed.dispatch import Handlers
from penstock.services.guaranteed.messages import PublishReceipt, PublishRefused
from penstock.services.guaranteed.parameters import GuaranteedParameters
from penstock.services.guaranteed.staging.commits import Commits
from penstock.services.guaranteed.staging.epoch_publisher import EpochPublisher
from penstock.services.guaranteed.staging.messages import (
    CommitStages,
    DropStages,
    OpenEpoch,
    StageRows,
)
from penstock.services.guaranteed.staging.pubend_gate import StagingGate
from penstock.services.guaranteed.staging.sink_administration import SinkAdministration
from penstock.services.guaranteed.staging.sinks import Sinks
from penstock.services.guaranteed.staging.staged_epoch import STAGING, Decision
from penstock.services.guaranteed.staging.staged_rows import StagedRows

ASK_AGAIN: Final[Duration] = SECOND // 10
"""How often requests that came before the broker had read its logs are tried again."""

EARLY_LIMIT: Final = 1000
"""How many requests wait until the broker has read its logs; more are refused."""

NAME_LIMIT: Final = 512
"""Characters of a sink's and a stage's name, which are kept in memory and on disk."""

StagingRequest: TypeAlias = OpenEpoch | StageRows | CommitStages | DropStages


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
        self._read_to, end, _ = log_bounds or (now, now, 0)
        self._trimmed_to = self._read_to
        self._sinks = Sinks(parameters.sink_limit, saved)
        self._rows = StagedRows(parameters, tokens, self._sinks, end)
        self._table = self._rows.table
        self._commits = Commits(tokens, self._sinks, self._table, gate)
        self._publisher = EpochPublisher(
            tokens, self._sinks, gate, piece_bytes=parameters.answer_bytes
        )
        self._recovery_token: int | None = None
        self._early: list[tuple[LinkName, StagingRequest]] = []
        self._early_at: Instant = now
        self._requests: Handlers = {
            OpenEpoch: self._open,
            StageRows: self._rows.stage,
            CommitStages: self._commit,
            DropStages: self._drop,
        }
        self._administration = SinkAdministration(tokens, self._sinks)
        self.handlers: Handlers = {
            **dict.fromkeys(self._requests, self.received),
            **self._administration.handlers,
        }
        """For messages of clients."""
        self.pubend_handlers: Handlers = {
            PublishReceipt: self._publisher.receipt,
            PublishRefused: self._publisher.refused,
        }
        """For the answers of this broker's pubends."""

    # -- recovery ---------------------------------------------------------------------------

    def start(self) -> list[Effect]:
        """Read what was staged, then continue with what was decided."""
        out: list[Effect] = []
        self._recover(self._early_at, out)
        return out

    def _recover(self, now: Instant, out: list[Effect]) -> None:
        if self._read_to < self._rows.end:
            self._recovery_token = self._tokens.take(STAGING)
            limit = self._parameters.answer_bytes
            out.append(ReadLog(self._recovery_token, STAGING, self._read_to, self._rows.end, limit))
            return
        self._recovery_token = None
        for sink, decision in self._sinks.unfinished():
            self._begin(sink, decision, now)
        self._hear_early(now, out)

    def _hear_early(self, now: Instant, out: list[Effect]) -> None:
        """Handle the requests that came before the broker had read its logs."""
        early, self._early = self._early, []
        for session, request in early:
            self.received(session, request, now, out)

    def _recovered(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        for entry in fact.frames:
            if entry.frame.low >= self._read_to:
                self._rows.recovered(entry, now)
        # A read that failed tells nothing; it is repeated from the same tick.
        self._read_to = max(self._read_to, fact.complete_to)
        self._recover(now, out)

    # -- requests ---------------------------------------------------------------------------

    def received(
        self, session: LinkName, request: StagingRequest, now: Instant, out: list[Effect]
    ) -> None:
        """A client's request; it waits until the broker has read its logs."""
        if len(request.sink) > NAME_LIMIT or len(getattr(request, "stage", "")) > NAME_LIMIT:
            self._refuse(session, request, f"a name is longer than {NAME_LIMIT} characters", out)
        elif self._recovery_token is None and self._gate.ready:
            self._requests[type(request)](session, request, now, out)
        elif len(self._early) >= EARLY_LIMIT:
            self._refuse(session, request, "the broker is still starting; try again", out)
        else:
            self._early.append((session, request))
            self._early_at = now + ASK_AGAIN

    def _refuse(
        self, session: LinkName, request: StagingRequest, problem: str, out: list[Effect]
    ) -> None:
        key = [request.sink, request.epoch]
        if isinstance(request, StageRows):
            key.append(request.stage)
        out.append(OpenRequest(session, request).answer(*key, problem=problem))

    def _open(self, session: LinkName, request: OpenEpoch, now: Instant, out: list[Effect]) -> None:
        self._commits.open(OpenRequest(session, request), request, out)

    def _drop(
        self, session: LinkName, request: DropStages, now: Instant, out: list[Effect]
    ) -> None:
        sink, epoch = request.sink, request.epoch
        if not self._sinks.is_decided(sink, epoch):
            self._table.drop_epoch(sink, epoch)
            self._trim(out)
        out.append(OpenRequest(session, request).answer(sink, epoch))

    def _commit(
        self, session: LinkName, request: CommitStages, now: Instant, out: list[Effect]
    ) -> None:
        sink, epoch = request.sink, request.epoch
        asked = OpenRequest(session, request)
        if epoch <= self._sinks.state(sink).epoch:
            out.append(asked.answer(sink, epoch, 0))
        elif not self._publisher.wait_for(sink, epoch, asked):
            self._commits.commit(asked, request, now, out)

    def _begin(self, sink: str, decision: Decision, now: Instant) -> None:
        """Publish a decision; nothing else of its epoch is needed any more."""
        self._publisher.begin(sink, decision, now)
        self._table.drop_epoch(sink, decision.epoch)

    def session_closed(self, session: LinkName) -> None:
        """The session needs no answers any more; what was decided goes on."""
        self._early = [entry for entry in self._early if entry[0] != session]
        self._publisher.session_closed(session)

    # -- the store's answers ----------------------------------------------------------------

    def resolved(
        self, token: int, failure: PersistFailed | None, now: Instant, out: list[Effect]
    ) -> None:
        """An order is durable, or was refused."""
        if self._rows.ordered(token):
            self._rows.resolved(token, failure, out)
        elif self._commits.ordered(token):
            decided = self._commits.resolved(token, failure, out)
            if decided is not None:
                sink, decision, session = decided
                self._begin(sink, decision, now)
                self._publisher.wait_for(sink, decision.epoch, session)
                self._publisher.advance(sink, now, out)
        elif self._publisher.ordered(token):
            answers = self._publisher.resolved(token, failure, now)
            if not failure:
                self._trim(out)
            out += answers
        elif self._administration.ordered(token):
            self._administration.resolved(token, failure, out)

    def log_read(self, fact: LogRead, now: Instant, out: list[Effect]) -> None:
        """The store has read a part of the log: for the recovery, or the next piece to publish."""
        if fact.token == self._recovery_token:
            self._recovered(fact, now, out)
        else:
            self._publisher.log_read(fact, now, out)

    def _trim(self, out: list[Effect]) -> None:
        """Give back the beginning of the log that is not needed any more."""
        staged = self._table.lowest()
        needed = [*self._publisher.needed_ticks(), *self._commits.needed_ticks()]
        below = min([*needed, self._rows.end if staged is None else staged])
        if below > self._trimmed_to and self._recovery_token is None:
            self._trimmed_to = below
            out.append(TrimLog(STAGING, below))

    # -- people -----------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """What an operator should know, in whole sentences."""
        count, limit = len(self._sinks), self._sinks.limit
        if count < limit - limit // 10:
            return []
        return [
            f"{count} of {limit} sinks are remembered (sink_limit); further ones will be refused: "
            "delete those that are retired (penstock sinks)"
        ]

    # -- time -------------------------------------------------------------------------------

    def deadline(self, now: Instant, out: list[Effect]) -> None:
        """Try again what was refused, and drop stages that have expired."""
        if self._early and now >= self._early_at:
            self._hear_early(now, out)
        self._publisher.deadline(now, out)
        if self._table.expire(now, self._parameters.stage_expiry_ns):
            self._trim(out)

    def next_deadline(self) -> Instant | None:
        """When a request or a publication is tried again, or a stage expires."""
        retries = self._publisher.retries
        if not retries and not self._early and not self._table:
            return None  # Called after every message; usually nothing is staged.
        return earliest(
            min(retries.values(), default=None),
            self._early_at if self._early else None,
            self._table.first_expiry(self._parameters.stage_expiry_ns),
        )

    def check_invariants(self) -> None:
        """Raise if a part of the log was trimmed that is needed."""
        staged = self._table.lowest()
        if staged is not None and staged < self._trimmed_to:
            raise InvariantBroken(f"staging: trimmed to {self._trimmed_to}, staged from {staged}")

"""Publishing in steps that happen whole or not at all, and once, even if they are repeated.

    sink = client.sink("daily totals")
    stage = sink.stage(epoch=17, name="part-0")
    await stage.write(rows)
    await sink.commit(17, {stage.name: stage.rows})

Rows that are staged are durable and cannot be read.  A commit publishes the stages that it names,
and nothing else of the epoch.  A program that does not know how far it came does the whole epoch
again, under other stage names: an epoch that was committed stays as it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from penstock.client.closable import Closable
from penstock.client.errors import AnswerLost, Disconnected, OutcomeUncertain, PenstockError
from penstock.client.waiting import deadline
from penstock.content.rows.batch import Batch, Row
from penstock.core.message import Request
from penstock.services.guaranteed.staging.messages import (
    CommitStages,
    DropStages,
    OpenEpoch,
    SinkDescription,
    StageRows,
)

COMMIT_WITHIN_S: Final = 600.0
"""How long a commit may take unless told otherwise: the rate that the pubend allows its publishers
holds for it too."""

Ask = Callable[[Request, float], Awaitable[Any]]


class SinkRefusedError(PenstockError):
    """The broker did not stage or commit, and said why; nothing of the epoch was published."""


class SinkElsewhereError(SinkRefusedError):
    """This broker does not host the sink's pubend; connect to the one that does."""


class SinkUncertain(OutcomeUncertain):
    """Whether the broker staged or committed cannot be found out at present.

    Staging and committing the same again is safe.
    """


class KnownSinks(msgspec.Struct, frozen=True):
    """The sinks that a broker remembers, the one that was unused for longest first."""

    sinks: tuple[SinkDescription, ...]
    """The first 1,000 of them."""
    total: int
    limit: int
    """How many it remembers at most (``sink_limit``)."""


class Sink(Closable):
    """One sink of a client.  Made by ``Client.sink``."""

    name: str
    """How the broker knows it."""
    pubend: str
    """Where it publishes; empty if the broker chooses."""

    once: bool
    """Whether it commits one epoch and is never used again."""

    def __init__(
        self,
        ask: Ask,
        turn: asyncio.Lock,
        name: str,
        pubend: str,
        *,
        deadline_s: float,
        once: bool = False,
    ) -> None:
        """``turn`` is shared by all sinks of a client: answers of a kind come in order."""
        self.name = name
        self.pubend = pubend
        self.once = once
        self._ask = ask
        self._turn = turn
        self._deadline_s = deadline_s
        self._closed = False

    async def close(self, *, deadline_s: float | None = None) -> None:
        """Stage and commit no more; what was staged stays, to be committed by another sink."""
        self._closed = True

    def stage(self, epoch: int, name: str) -> Stage:
        """One writer's part of an epoch; a name is used once."""
        return Stage(self, epoch, name)

    async def commit(
        self,
        epoch: int,
        stages: Mapping[str, int],
        *,
        follows: int | None = None,
        deadline_s: float = COMMIT_WITHIN_S,
    ) -> int:
        """Publish these stages, given with the rows of each; returns how many rows that were.

        0 if the epoch was committed before.  Raises ``SinkRefusedError`` if a stage is not there
        any more, and ``DeadlineExceeded`` if it takes too long; then it may yet happen, and
        committing again is safe.

        With ``follows``, an epoch that was committed before, a broker that has no record of it
        refuses: it could not tell whether this epoch was published elsewhere.
        """
        question = CommitStages(
            self.name, epoch, tuple(sorted(stages.items())), self.pubend, follows, self.once
        )
        answer = await self._ask_until_answered(question, deadline_s)
        rows: int = answer.rows
        return rows

    async def drop(self, epoch: int) -> None:
        """Discard what was staged for this epoch."""
        await self._ask_until_answered(DropStages(self.name, epoch), self._deadline_s)

    async def _ask_until_answered(self, question: Request, deadline_s: float | None = None) -> Any:
        """Ask, again after every lost connection: whatever a sink says may be repeated."""
        if self._closed:
            raise Disconnected(f"sink {self.name!r} was closed")
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        async with deadline(limit_s, lambda: f"sink {self.name!r}: no answer"), self._turn:
            while True:
                try:
                    answer = await self._ask(question, limit_s)
                except AnswerLost:
                    # Asking again waits until the session is connected anew.
                    continue
                problem = getattr(answer, "problem", "")
                if getattr(answer, "uncertain", False):
                    raise SinkUncertain(
                        f"sink {self.name!r}: {problem}; ask for the same again when the broker "
                        "has been started again"
                    )
                if getattr(answer, "elsewhere", False):
                    raise SinkElsewhereError(f"sink {self.name!r}: {problem}")
                if problem:
                    raise SinkRefusedError(f"sink {self.name!r}: {problem}")
                return answer


class Stage:
    """Rows of one writer for one epoch."""

    name: str
    """What the commit calls it."""
    rows: int
    """How many rows it holds."""
    is_committed: bool
    """Whether the epoch was committed before, so that nothing needs to be written."""

    def __init__(self, sink: Sink, epoch: int, name: str) -> None:
        """Empty at first."""
        self.name = name
        self.rows = 0
        self.is_committed = False
        self._sink = sink
        self._epoch = epoch

    async def open(self) -> None:
        """Ask whether the epoch was committed before, so that its rows need not be computed.

        Raises ``SinkElsewhereError`` if the broker does not host the sink's pubend.
        """
        question = OpenEpoch(self._sink.name, self._epoch, self._sink.pubend)
        answer = await self._sink._ask_until_answered(question)
        self.is_committed = answer.decided

    async def write(self, rows: Batch | Iterable[Row]) -> None:
        """Stage rows; they are durable when this returns.

        ``is_committed`` tells afterwards that the epoch was committed before, and that nothing
        needs to be written.
        """
        batch = rows if isinstance(rows, Batch) else Batch.from_rows(list(rows))
        if not len(batch) or self.is_committed:
            return
        question = StageRows(self._sink.name, self._epoch, self.name, self.rows, batch)
        answer = await self._sink._ask_until_answered(question)
        self.is_committed = answer.decided
        if not answer.decided:
            self.rows = answer.rows

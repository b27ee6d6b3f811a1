"""The messages about staged rows: rows that are durable at a broker before they are published.

A *sink* is a client that publishes in numbered steps, its *epochs* (a Spark query and its batches).
A *stage* is one writer's part of an epoch.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from penstock.content.rows.batch import Batch
from penstock.core.limits import MOST_STREAMS, Count, Name, Sequence
from penstock.core.message import Answer, Request, RowsRequest


class StageRows(RowsRequest, Request, frozen=True, gc=False):
    """Rows for a stage, numbered from ``first_row``; a repeat of rows that it holds is harmless."""

    answer: ClassVar[str] = "RowsStaged"
    stored: ClassVar[bool] = True

    sink: Name
    epoch: Sequence
    stage: Name
    first_row: Sequence
    batch: Batch

    def refused(self, reason: str) -> RowsStaged:
        """Answer that the stage was not changed."""
        reply: RowsStaged = self.answered(
            self.sink, self.epoch, self.stage, self.first_row, problem=reason
        )
        return reply


class RowsStaged(Answer, frozen=True):
    """The stage holds ``rows`` rows, all durable.

    ``decided`` means that the epoch was committed before: its rows need not be staged again.
    """

    sink: Name = ""
    epoch: Sequence = 0
    stage: Name = ""
    rows: Count = 0
    decided: bool = False


class CommitStages(Request, frozen=True):
    """Publish these stages, each with the number of rows that it must hold, and drop all others.

    Without a ``pubend`` the broker chooses one, always the same for the same sink.
    """

    answer: ClassVar[str] = "StagesCommitted"

    sink: Name
    epoch: Sequence
    stages: Annotated[tuple[tuple[Name, Count], ...], Meta(max_length=MOST_STREAMS)]
    pubend: Name = ""


class StagesCommitted(Answer, frozen=True):
    """Every row of the epoch is published, once; or nothing was decided, with the reason.

    If ``uncertain``, only a restart of the broker shows whether the commit was decided.
    """

    sink: Name = ""
    epoch: Sequence = 0
    rows: Count = 0


class DropStages(Request, frozen=True):
    """Discards all stages of an epoch that will not be committed."""

    answer: ClassVar[str] = "StagesDropped"

    sink: Name
    epoch: Sequence


class StagesDropped(Answer, frozen=True):
    """The stages are discarded, or the request failed with a reason."""

    sink: Name = ""
    epoch: Sequence = 0

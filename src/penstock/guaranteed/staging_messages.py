"""What is said about staged rows: rows that are durable at a broker before they are published.

A *sink* is somebody who publishes in numbered steps, its *epochs* (a Spark query and its batches).
A *stage* is one writer's part of an epoch.
"""

from __future__ import annotations

from penstock.content.batch import Batch
from penstock.core.message import Message


class StageRows(Message, frozen=True, gc=False):
    """Rows for a stage, numbered from ``first_row``; a repeat of rows that it holds is harmless."""

    sink: str
    epoch: int
    stage: str
    first_row: int
    batch: Batch


class RowsStaged(Message, frozen=True):
    """The stage holds so many rows, all durable.

    ``decided`` says that the epoch was committed before: its rows need not be staged again.
    """

    sink: str
    epoch: int
    stage: str
    rows: int
    decided: bool = False
    problem: str = ""
    uncertain: bool = False
    """The disk failed meanwhile: the broker cannot tell before it is started again."""


class CommitStages(Message, frozen=True):
    """Publish these stages, each with the number of rows that it must hold, and drop all others.

    Without a ``pubend`` the broker chooses one, always the same for the same sink.
    """

    sink: str
    epoch: int
    stages: tuple[tuple[str, int], ...]
    pubend: str = ""


class StagesCommitted(Message, frozen=True):
    """Every row of the epoch is published, once; or nothing was decided, and why.

    If it is ``uncertain``, whether it was decided shows when the broker is started again.
    """

    sink: str
    epoch: int
    rows: int
    problem: str = ""
    uncertain: bool = False


class DropStages(Message, frozen=True):
    """Nobody will commit what was staged for this epoch."""

    sink: str
    epoch: int


class StagesDropped(Message, frozen=True):
    """It is gone, or could not be looked for."""

    sink: str
    epoch: int
    problem: str = ""

"""Publishing in steps that happen whole or not at all, for programs without an event loop."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.client.blocking.loop_thread import LoopThread
from penstock.client.guaranteed import sink as asynchronous
from penstock.client.guaranteed.sink import COMMIT_WITHIN_S
from penstock.content.rows.batch import Batch, Row


class Sink:
    """One sink of a client.  Made by ``Client.sink``."""

    def __init__(self, thread: LoopThread, sink: asynchronous.Sink) -> None:
        """The asyncio sink, in the client's thread."""
        self._thread = thread
        self._sink = sink

    @property
    def name(self) -> str:
        """How the broker knows it."""
        return self._sink.name

    def stage(self, epoch: int, name: str) -> Stage:
        """One writer's part of an epoch; a name is used once."""
        return Stage(self._thread, self._sink.stage(epoch, name))

    def commit(
        self, epoch: int, stages: Mapping[str, int], *, deadline_s: float = COMMIT_WITHIN_S
    ) -> int:
        """Publish these stages with so many rows each; returns how many rows that were."""
        return self._thread.call(self._sink.commit(epoch, stages, deadline_s=deadline_s))

    def drop(self, epoch: int) -> None:
        """Nobody will commit what was staged for this epoch."""
        self._thread.call(self._sink.drop(epoch))


class Stage:
    """Rows of one writer for one epoch."""

    def __init__(self, thread: LoopThread, stage: asynchronous.Stage) -> None:
        """The asyncio stage, in the client's thread."""
        self._thread = thread
        self._stage = stage

    @property
    def name(self) -> str:
        """What the commit calls it."""
        return self._stage.name

    @property
    def rows(self) -> int:
        """How many rows it holds."""
        return self._stage.rows

    @property
    def is_committed(self) -> bool:
        """Whether the epoch was committed before, so that nothing needs to be written."""
        return self._stage.is_committed

    def write(self, rows: Batch | Iterable[Row]) -> None:
        """Stage rows; they are durable when this returns."""
        self._thread.call(self._stage.write(rows))

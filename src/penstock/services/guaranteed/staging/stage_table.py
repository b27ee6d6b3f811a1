"""The stages of a broker, and the places of their rows in the staging log."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from penstock.core.clock import Duration, Instant
from penstock.core.intervals import Interval, Tick


class StageKey(msgspec.Struct, frozen=True):
    """The name of a stage."""

    sink: str
    epoch: int
    stage: str

    def text(self) -> str:
        """The name as it is written to the log."""
        return msgspec.json.encode((self.epoch, self.sink, self.stage)).decode()

    @staticmethod
    def parse(text: str) -> StageKey:
        """The name from the text in the log."""
        epoch, sink, stage = msgspec.json.decode(text, type=tuple[int, str, str])
        return StageKey(sink, epoch, stage)


class Stage:
    """The rows of one stage."""

    __slots__ = ("durable_rows", "pieces", "rows", "size_bytes", "touched_at")

    def __init__(self, now: Instant) -> None:
        self.rows = 0
        self.durable_rows = 0
        self.size_bytes = 0
        self.pieces: list[Interval] = []
        self.touched_at = now

    def add(self, piece: Interval, rows: int, size_bytes: int, now: Instant) -> None:
        """Add rows that are in flight to the log."""
        self.pieces.append(piece)
        self.rows += rows
        self.size_bytes += size_bytes
        self.touched_at = now


class StageTable:
    """All stages of a broker, the least recently touched one first."""

    def __init__(self) -> None:
        self._stages: OrderedDict[StageKey, Stage] = OrderedDict()
        self.size_bytes = 0

    def get(self, key: StageKey) -> Stage | None:
        """A stage, or None."""
        return self._stages.get(key)

    def open(self, key: StageKey, now: Instant) -> Stage:
        """A stage; created if there is none."""
        stage = self._stages.get(key)
        if stage is None:
            stage = self._stages[key] = Stage(now)
        return stage

    def add(
        self, key: StageKey, piece: Interval, rows: int, size_bytes: int, now: Instant
    ) -> Stage:
        """Add rows to a stage."""
        stage = self.open(key, now)
        stage.add(piece, rows, size_bytes, now)
        self._stages.move_to_end(key)
        self.size_bytes += size_bytes
        return stage

    def drop(self, key: StageKey) -> None:
        stage = self._stages.pop(key, None)
        if stage is not None:
            self.size_bytes -= stage.size_bytes

    def drop_epoch(self, sink: str, epoch: int) -> None:
        """Drop everything that a sink staged for an epoch or for earlier ones."""
        for key in [key for key in self._stages if key.sink == sink and key.epoch <= epoch]:
            self.drop(key)

    def expire(self, now: Instant, after: Duration) -> bool:
        """Drop stages that were not touched for this long; True if there were any."""
        before = len(self._stages)
        while (due := self.first_expiry(after)) is not None and due <= now:
            self.drop(next(iter(self._stages)))
        return len(self._stages) < before

    def first_expiry(self, after: Duration) -> Instant | None:
        """When the next stage expires."""
        oldest = next(iter(self._stages.values()), None)
        return None if oldest is None else oldest.touched_at + after

    def lowest(self) -> Tick | None:
        """The lowest tick of the log that a stage needs."""
        lows = (stage.pieces[0][0] for stage in self._stages.values() if stage.pieces)
        return min(lows, default=None)

    def __len__(self) -> int:
        """How many stages there are."""
        return len(self._stages)

"""An epoch of staged rows on its way from the decision to its pubend, and what is saved of it."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.intervals import Interval, IntervalSet
from penstock.core.machine import LinkName

SINK_PREFIX: Final = "sink/"
"""Before a sink's name where its state is saved, and where its rows are published."""


class Decision(msgspec.Struct, frozen=True):
    """An epoch that will be published: where its rows stand, and the numbers that they get."""

    epoch: int
    pubend: str
    first_sequence: int
    rows: int
    pieces: tuple[Interval, ...]


class SinkState(msgspec.Struct, frozen=True):
    """What is saved of a sink."""

    epoch: int = -1
    """The last epoch whose rows are all published."""
    next_sequence: int = 0
    decision: Decision | None = None

    def covers(self, epoch: int) -> bool:
        """Whether an epoch was decided, published or not."""
        return epoch <= (self.epoch if self.decision is None else self.decision.epoch)


class Publishing:
    """A decision on its way into its pubend, one piece after the other."""

    __slots__ = ("decision", "lost_rows", "piece", "sequence", "unconfirmed", "waiting")

    def __init__(self, decision: Decision) -> None:
        """From the first piece on, whatever was published before a crash."""
        self.decision = decision
        self.piece = 0
        self.lost_rows = 0
        self.sequence = decision.first_sequence
        self.unconfirmed = IntervalSet()
        self.waiting: list[LinkName] = []

    @property
    def next_piece(self) -> Interval | None:
        """The piece that is to be published now; None if all are."""
        pieces = self.decision.pieces
        return pieces[self.piece] if self.piece < len(pieces) else None

    def piece_published(self) -> None:
        """Go on with the next."""
        low, high = self.decision.pieces[self.piece]
        self.piece += 1
        self.sequence += high - low

    def piece_lost(self) -> None:
        """The disk can no longer read it: go on without it."""
        low, high = self.decision.pieces[self.piece]
        self.lost_rows += high - low
        self.piece_published()


def producer_of(sink: str) -> str:
    """The name under which a sink's rows are published."""
    return SINK_PREFIX + sink


def is_sink_name(producer: str) -> bool:
    """Whether a publisher's name is one under which a sink's rows are published."""
    return producer.startswith(SINK_PREFIX)


def sink_of(producer: str) -> str:
    """The sink behind such a name."""
    return producer.removeprefix(SINK_PREFIX)

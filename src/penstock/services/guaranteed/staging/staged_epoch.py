"""An epoch of staged rows between its decision and its publication, and the state of a sink."""

from __future__ import annotations

from typing import Final

import msgspec

from penstock.core.clock import Instant
from penstock.core.intervals import Interval, IntervalSet
from penstock.core.open_request import OpenRequest

STAGING: Final = "staging"
"""The staging log, and the owner of the orders that the staging gives to the store."""

SINK_PREFIX: Final = "sink/"
"""Prefix of a sink's name in the saved state, and in the producer name of its rows."""


class Decision(msgspec.Struct, frozen=True):
    """An epoch that will be published: the places of its rows in the log, and their numbers."""

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
    pubend: str = ""
    """Where its last epoch went; a sink that names no pubend stays there."""
    used_at: Instant = 0
    """When it last committed; 0 in what earlier versions saved."""
    once: bool = False
    """Whether it commits one epoch and is never used again."""

    def covers(self, epoch: int) -> bool:
        """Whether an epoch was decided, published or not."""
        return epoch <= (self.epoch if self.decision is None else self.decision.epoch)


class PublishingEpoch:
    """A decision that is being published, one piece after the other."""

    __slots__ = ("decision", "lost_rows", "piece", "sequence", "unconfirmed", "waiting")

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.piece = 0
        self.lost_rows = 0
        self.sequence = decision.first_sequence
        self.unconfirmed = IntervalSet()
        self.waiting: list[OpenRequest] = []

    @property
    def next_piece(self) -> Interval | None:
        """The piece to publish now; None if all are published."""
        pieces = self.decision.pieces
        return pieces[self.piece] if self.piece < len(pieces) else None

    def piece_published(self) -> None:
        """Continue with the next piece."""
        low, high = self.decision.pieces[self.piece]
        self.piece += 1
        self.sequence += high - low

    def piece_lost(self) -> None:
        """The disk can no longer read the piece: continue without it."""
        low, high = self.decision.pieces[self.piece]
        self.lost_rows += high - low
        self.piece_published()


def producer_of(sink: str) -> str:
    """The name under which a sink's rows are published."""
    return SINK_PREFIX + sink


def is_sink_name(producer: str) -> bool:
    """Whether a producer name belongs to a sink."""
    return producer.startswith(SINK_PREFIX)


def sink_of(producer: str) -> str:
    """The sink of such a producer name."""
    return producer.removeprefix(SINK_PREFIX)

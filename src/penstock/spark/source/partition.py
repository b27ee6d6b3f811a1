"""Divides the intervals of a batch among Spark's tasks.

1. There are at most ``most`` partitions: more than cores makes a batch slower, not faster.
2. With fewer pubends than partitions, intervals are split; with more, several share a partition.
3. The distribution of rows within an interval is unknown before they are read.  Ticks are time, so
   intervals of equal length are the best guess; a part that is known to be silent is not split.
4. However the batch is divided, its partitions together hold the same rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import msgspec
from pyspark.sql.datasource import InputPartition

from penstock.core.clock import SECOND, Duration
from penstock.core.intervals import Tick

SHORTEST: Duration = SECOND // 10
"""An interval is not split into shorter pieces: a task costs more than it saves."""


class Piece(msgspec.Struct, frozen=True):
    """An interval of one pubend."""

    pubend: str
    low: Tick
    high: Tick


class IntervalPartition(InputPartition):
    """The pieces that one task reads, one after the other."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        """Spark sends the pieces to the task."""
        self.pieces = pieces


def partition(
    lows: Mapping[str, Tick],
    highs: Mapping[str, Tick],
    *,
    least: int,
    most: int,
    rows_ends: Mapping[str, Tick] | None = None,
) -> list[IntervalPartition]:
    """Partitions that together cover ``[low, high)`` of every pubend exactly once.

    ``rows_ends`` holds, where known, the tick of a pubend after which there is only silence.
    """
    ends = rows_ends or {}
    whole = [
        Piece(pubend, lows[pubend], high)
        for pubend, high in sorted(highs.items())
        if lows[pubend] < high
    ]
    if not whole:
        return []
    wanted = max(least, min(most, sum(_most_cuts(piece) for piece in whole)))
    cuts = max(1, -(-wanted // len(whole)))
    pieces = [
        part for piece in whole for part in _cut(piece, cuts, ends.get(piece.pubend, piece.high))
    ]
    count = min(len(pieces), max(wanted, 1))
    shares: list[list[Piece]] = [[] for _ in range(count)]
    for number, piece in enumerate(pieces):
        shares[number * count // len(pieces)].append(piece)
    return [IntervalPartition(tuple(share)) for share in shares]


def _most_cuts(piece: Piece) -> int:
    return max(1, (piece.high - piece.low) // SHORTEST)


def _cut(piece: Piece, count: int, rows_end: Tick) -> list[Piece]:
    span = max(1, min(piece.high, rows_end) - piece.low)
    count = min(count, span)
    bounds = [piece.low + span * number // count for number in range(count)]
    bounds.append(piece.high)
    return [Piece(piece.pubend, low, high) for low, high in pairwise(bounds)]

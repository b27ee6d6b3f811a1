"""Which part of a stream the application is done with.

1. What was handed to the application lies in pieces, one behind the other, for each pubend.
2. A piece knows which of its rows are done, in whatever order the application acknowledges them.
3. The position is the end of the contiguous done prefix: everything below it is done, and the
   first tick at or above it that holds a message is not.  Silence behind a done row belongs to it.
"""

from __future__ import annotations

from collections import deque

from penstock.content.rows.frame import NO_TICKS, Ticks
from penstock.core.intervals import Tick
from penstock.core.machine import InvariantBroken


class Piece:
    """A contiguous part of a stream in the application's hands."""

    __slots__ = ("_ahead", "_rows_done", "high", "low", "pubend", "ticks")

    def __init__(self, pubend: str, low: Tick, high: Tick, ticks: Ticks = NO_TICKS) -> None:
        """``ticks`` are those of its rows; without any the piece is done from the start."""
        self.pubend = pubend
        self.low = low
        self.high = high
        self.ticks = ticks
        self._rows_done = 0
        self._ahead: bytearray | None = None

    @property
    def unfinished_rows(self) -> int:
        """How many rows stand at or behind the first one that is not done."""
        return len(self.ticks) - self._rows_done

    @property
    def position(self) -> Tick:
        """The end of what is done without a gap."""
        if self._rows_done == len(self.ticks):
            return self.high
        return int(self.ticks[self._rows_done]) if self._rows_done else self.low

    def finish(self, row: int) -> None:
        """One row is done; saying so again changes nothing."""
        if row < self._rows_done:
            return
        if self._ahead is None:
            if row == self._rows_done:
                self._rows_done += 1
                return
            self._ahead = bytearray(len(self.ticks))
        self._ahead[row] = 1
        gap = self._ahead.find(0, self._rows_done)
        self._rows_done = len(self.ticks) if gap < 0 else gap

    def finish_below(self, row: int) -> None:
        """All rows before this one are done."""
        if row > self._rows_done:
            self._rows_done = row
            if self._ahead is not None:
                gap = self._ahead.find(0, row)
                self._rows_done = len(self.ticks) if gap < 0 else gap

    def finish_all(self) -> None:
        """The whole piece is done."""
        self._rows_done = len(self.ticks)


class Ledger:
    """The pieces of one pubend's stream that are not done yet, and the position below them."""

    __slots__ = ("_pieces", "_position", "_taken")

    def __init__(self, position: Tick) -> None:
        """Everything below ``position`` is done."""
        self._position = position
        self._taken = position
        self._pieces: deque[Piece] = deque()

    @property
    def taken(self) -> Tick:
        """The end of what was handed to the application."""
        return self._taken

    def hand(self, piece: Piece) -> None:
        """The application takes the next piece; what lies before it is silence.

        Pieces that are done are let go here: the position may never be asked for.
        """
        self.position()
        if piece.low < self._taken:
            raise InvariantBroken(f"{piece.pubend}: [{piece.low}, …) was handed over before")
        self._taken = piece.high
        self._pieces.append(piece)

    def position(self) -> Tick:
        """The end of what is done."""
        pieces = self._pieces
        while pieces and not pieces[0].unfinished_rows:
            self._position = pieces.popleft().high
        if pieces:
            self._position = max(self._position, pieces[0].position)
        return self._position

    @property
    def unfinished_rows(self) -> int:
        """Rows that stand at or behind the first one of their piece that is not done."""
        return sum(piece.unfinished_rows for piece in self._pieces)

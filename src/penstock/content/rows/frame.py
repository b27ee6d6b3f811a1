"""Knowledge of a stream: an interval and its rows.

A frame ``[low, high)`` with rows says: in this interval these ticks hold these messages, and every
other tick is silence.  From that follows everything that the guaranteed service needs:

1. a filter drops rows and keeps the interval, so filtered messages become silence by construction;
2. silence is a frame without rows;
3. a retransmission is a slice of a frame, and slicing keeps the truth of what is left;
4. a frame marked ``final`` says that the ticks are no longer kept: known, but not deliverable.

Rows in consecutive ticks, which is how a pubend places them, carry no tick column at all: their
ticks are a ``range`` of step one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.columns import Array, Mask
from penstock.core.intervals import Tick

Ticks: TypeAlias = range | Array

NO_TICKS: Final = range(0)
NO_ROWS: Final = Batch.from_rows([])

FRAME_HEADER_BYTES: Final = 64
"""What a frame weighs beside its rows wherever bytes are counted (caches, windows, the log)."""


class Frame:
    """An immutable interval of a stream with its rows."""

    __slots__ = ("_weight", "batch", "final", "high", "low", "ticks")

    def __init__(
        self,
        low: Tick,
        high: Tick,
        ticks: Ticks = NO_TICKS,
        batch: Batch = NO_ROWS,
        *,
        final: bool = False,
    ) -> None:
        """Ticks ascend and lie in ``[low, high)``, one for each row of the batch."""
        self.low = low
        self.high = high
        self.ticks = ticks
        self.batch = batch
        self.final = final
        self._weight = 0

    def __len__(self) -> int:
        """How many rows."""
        return len(self.ticks)

    def __repr__(self) -> str:
        """For people: the interval and the number of rows."""
        kind = "final" if self.final else f"{len(self)} rows"
        return f"Frame([{self.low}, {self.high}), {kind})"

    def __eq__(self, other: object) -> bool:
        """Equal when they say the same of the same ticks."""
        if not isinstance(other, Frame):
            return NotImplemented
        return (
            self.low == other.low
            and self.high == other.high
            and self.final == other.final
            and list(self.ticks) == list(other.ticks)
            and self.batch.has_same_rows(other.batch)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def weight(self) -> int:
        """Bytes to count against a bound."""
        if not self._weight:
            self._weight = FRAME_HEADER_BYTES
            if len(self.ticks):
                ticks = 0 if isinstance(self.ticks, range) else 8 * len(self.ticks)
                self._weight += ticks + self.batch.wire_size
        return self._weight

    def slice(self, low: Tick, high: Tick) -> Frame:
        """What this frame says of ``[low, high)``; the part outside it is not claimed.

        Where the two do not overlap it says nothing: an empty interval.
        """
        if low <= self.low and high >= self.high:
            return self
        low = max(low, self.low)
        high = max(low, min(high, self.high))
        start, stop = self.rows_within(low, high)
        if stop - start == len(self.ticks):
            return Frame(low, high, self.ticks, self.batch, final=self.final)
        if stop == start:
            return Frame(low, high, final=self.final)
        return Frame(
            low, high, self.ticks[start:stop], self.batch.slice(start, stop), final=self.final
        )

    def rows_within(self, low: Tick, high: Tick) -> tuple[int, int]:
        """The range of row numbers whose ticks lie in ``[low, high)``."""
        ticks = self.ticks
        if isinstance(ticks, range):
            return bisect_left(ticks, low), bisect_left(ticks, high)
        return int(np.searchsorted(ticks, low)), int(np.searchsorted(ticks, high))

    def select(self, chosen: Mask | Array | bool) -> Frame:
        """The same interval with only the chosen rows: a mask, or ascending row numbers.

        True is all rows, False none.
        """
        if chosen is True or not len(self.ticks):
            return self
        if chosen is False:
            return Frame(self.low, self.high, final=self.final)
        rows: Array = chosen
        if chosen.dtype == np.bool_:
            if len(chosen) != len(self.ticks):
                raise IndexError(f"a mask of {len(chosen)} for {len(self.ticks)} rows")
            rows = np.flatnonzero(chosen)
        if len(rows) == len(self.ticks):
            return self
        if not len(rows):
            return Frame(self.low, self.high, final=self.final)
        ticks = self.tick_array()[rows]
        return Frame(self.low, self.high, ticks, self.batch.take(rows), final=self.final)

    def tick_array(self) -> Array:
        """The ticks as a numpy column."""
        ticks = self.ticks
        if isinstance(ticks, range):
            return np.arange(ticks.start, ticks.stop, dtype="<i8")
        return ticks


def fold_silence(frames: Iterable[Frame]) -> list[Frame]:
    """The same knowledge in fewer frames: silence joins the frame that it touches.

    A filter leaves many frames without rows, and on a wire each of them would cost a message.
    """
    folded: list[Frame] = []
    for frame in frames:
        last = folded[-1] if folded else None
        touching = last is not None and last.high == frame.low and last.final == frame.final
        if last is None or not touching or (len(last) and len(frame)):
            folded.append(frame)
        else:
            rows = last if len(last) else frame
            folded[-1] = Frame(last.low, frame.high, rows.ticks, rows.batch, final=last.final)
    return folded

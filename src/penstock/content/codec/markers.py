"""Markers: what the head of a message holds in the place of a batch or a frame.

A batch is attached as its block, and its marker is the number of its rows.  A frame is attached as
its tick column, unless its ticks are consecutive, and its block; a frame without rows is its marker
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import numpy as np

from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.columns import Buffer
from penstock.content.rows.frame import Frame, Ticks
from penstock.core.limits import MOST_ROWS, TickLimited

RowCount: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=MOST_ROWS)]

TICK_DTYPE: Final = np.dtype("<i8")
TICK_BYTES: Final = TICK_DTYPE.itemsize


class FrameMarker(msgspec.Struct, frozen=True, array_like=True):
    """The interval of a frame, and how its ticks and rows are attached."""

    low: TickLimited
    high: TickLimited
    final: bool
    first_tick: TickLimited
    rows: RowCount
    dense: bool
    """Whether the ticks are consecutive, so that no tick column is attached."""


def marker_of(frame: Frame) -> FrameMarker:
    """The marker of a frame."""
    ticks = frame.ticks
    rows = len(ticks)
    first = int(ticks[0]) if rows else 0
    return FrameMarker(frame.low, frame.high, frame.final, first, rows, isinstance(ticks, range))


def batch_of(rows: Any, block: Buffer) -> Batch:
    """The batch whose marker this is."""
    batch = Batch.decode(block)
    if len(batch) != rows:
        raise MalformedBlock(f"{rows} rows were announced, {len(batch)} came")
    return batch


def frame_of(value: Any, take: Callable[[], Buffer]) -> Frame:
    """The frame whose marker this is; ``take`` gives the next attachment."""
    marker = msgspec.convert(value, FrameMarker)
    if marker.low > marker.high:
        raise MalformedBlock("a frame ends before it begins")
    if not marker.rows:
        return Frame(marker.low, marker.high, final=marker.final)
    ticks: Ticks
    if marker.dense:
        ticks = range(marker.first_tick, marker.first_tick + marker.rows)
    else:
        raw = take()
        if len(raw) != TICK_BYTES * marker.rows:
            raise MalformedBlock("the tick column does not fit the number of rows")
        ticks = np.frombuffer(raw, TICK_DTYPE)
        if (ticks[1:] <= ticks[:-1]).any():
            raise MalformedBlock("ticks do not ascend")
    if ticks[0] < marker.low or ticks[-1] >= marker.high:
        raise MalformedBlock("a tick lies outside its frame")
    batch = batch_of(marker.rows, take())
    return Frame(marker.low, marker.high, ticks, batch, final=marker.final)

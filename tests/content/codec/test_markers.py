"""Markers of batches and frames, and markers that lie."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from penstock.content.codec.markers import FrameMarker, batch_of, frame_of, marker_of
from penstock.content.rows.batch import Batch
from penstock.content.rows.block import MalformedBlock
from penstock.content.rows.frame import Frame


def giving(*attachments: bytes) -> Callable[[], bytes]:
    return iter(attachments).__next__


def ticks(*values: int) -> bytes:
    return np.array(values, "<i8").tobytes()


def test_a_marker_says_how_ticks_and_rows_are_attached(batch: Batch) -> None:
    assert marker_of(Frame(1, 9)) == FrameMarker(1, 9, False, 0, 0, True)
    assert marker_of(Frame(1, 9, range(3, 5), batch)) == FrameMarker(1, 9, False, 3, 2, True)
    scattered = Frame(1, 9, np.array([3, 7], "<i8"), batch)
    assert marker_of(scattered) == FrameMarker(1, 9, False, 3, 2, False)


def test_frames_are_made_of_their_markers_and_attachments(batch: Batch) -> None:
    block = bytes(batch.encode())
    dense = frame_of([1, 9, False, 3, 2, True], giving(block))
    assert dense == Frame(1, 9, range(3, 5), batch)
    scattered = frame_of([1, 9, False, 3, 2, False], giving(ticks(3, 7), block))
    assert scattered == Frame(1, 9, np.array([3, 7], "<i8"), batch)
    assert frame_of([1, 9, True, 0, 0, True], giving()) == Frame(1, 9, final=True)


@pytest.mark.parametrize(
    ("marker", "attached", "problem"),
    [
        ([9, 1, False, 0, 0, True], (), "ends before it begins"),
        ([1, 9, False, 8, 2, True], (), "a tick lies outside its frame"),
        ([1, 9, False, 0, 2, True], (), "a tick lies outside its frame"),
        ([1, 9, False, 3, 2, False], (ticks(3, 9),), "a tick lies outside its frame"),
        ([1, 9, False, 3, 2, False], (ticks(3, 3),), "ticks do not ascend"),
        ([1, 9, False, 3, 2, False], (ticks(3),), "does not fit the number of rows"),
    ],
)
def test_a_marker_that_lies_is_refused(
    marker: list[object], attached: tuple[bytes, ...], problem: str
) -> None:
    with pytest.raises(MalformedBlock, match=problem):
        frame_of(marker, giving(*attached))


@pytest.mark.parametrize("marker", [None, [1], [1, 9, False, 3, -1, True], ["1", 9, 0, 0, 0, 0]])
def test_a_marker_of_other_types_is_refused(marker: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        frame_of(marker, giving())


def test_a_batch_has_the_rows_that_were_announced(batch: Batch) -> None:
    block = bytes(batch.encode())
    assert batch_of(2, block).has_same_rows(batch)
    with pytest.raises(MalformedBlock, match="3 rows were announced, 2 came"):
        batch_of(3, block)

"""Frames against the plainest model: what is said of each tick."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import (
    FRAME_HEADER_BYTES,
    NO_ROWS,
    NO_TICKS,
    Frame,
    Ticks,
    fold_silence,
)
from penstock.core.clock import NEVER

moderate = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SPACE = 30
SILENCE = None

Sayings = dict[int, bytes | None]


def frame_of(
    low: int, high: int, ticks: list[int], *, as_array: bool = False, final: bool = False
) -> Frame:
    """A frame whose rows name their ticks."""
    batch = Batch.from_rows([({"n": tick, "s": str(tick % 3)}, b"%d" % tick) for tick in ticks])
    consecutive = bool(ticks) and ticks == list(range(ticks[0], ticks[-1] + 1))
    placed: Ticks = np.array(ticks, dtype="<i8")
    if consecutive and not as_array:
        placed = range(ticks[0], ticks[-1] + 1)
    return Frame(low, high, placed, batch, final=final)


def said(frame: Frame) -> Sayings:
    """What the frame says of each tick of its interval; its rows are checked on the way."""
    found: Sayings = dict.fromkeys(range(frame.low, frame.high), SILENCE)
    rows = zip(frame.ticks, frame.batch.attribute_rows(), frame.batch.payload_rows(), strict=True)
    for tick, attributes, payload in rows:
        assert frame.low <= tick < frame.high
        assert attributes == {"n": tick, "s": str(tick % 3)}
        found[int(tick)] = payload
    return found


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    low = draw(st.integers(0, SPACE))
    high = draw(st.integers(low, SPACE))
    as_array, final = draw(st.booleans()), draw(st.booleans())
    if draw(st.booleans()):
        start = draw(st.integers(low, high))
        ticks = list(range(start, draw(st.integers(start, high))))
    else:
        ticks = sorted(draw(st.sets(st.integers(low, max(low, high - 1)))))
        ticks = ticks if low < high else []
    return frame_of(low, high, ticks, as_array=as_array, final=final)


bounds = st.integers(-5, SPACE + 5)


@moderate
@given(frames(), bounds, bounds)
def test_a_slice_says_the_same_of_less(frame: Frame, low: int, high: int) -> None:
    cut = frame.slice(low, high)
    assert said(cut) == {tick: what for tick, what in said(frame).items() if low <= tick < high}
    assert cut.final == frame.final
    assert cut.low <= cut.high
    assert len(cut.batch) == len(cut)


@moderate
@given(frames(), bounds, bounds, bounds, bounds)
def test_slicing_twice_is_slicing_once(frame: Frame, a: int, b: int, c: int, d: int) -> None:
    twice, once = frame.slice(a, b).slice(c, d), frame.slice(max(a, c), min(b, d))
    assert said(twice) == said(once)
    if once.low < once.high:
        assert twice == once


@moderate
@given(frames(), bounds)
def test_the_parts_of_a_cut_frame_say_all_of_it(frame: Frame, cut: int) -> None:
    below, above = frame.slice(-5, cut), frame.slice(cut, SPACE + 5)
    assert {**said(below), **said(above)} == said(frame)
    assert len(below) + len(above) == len(frame)


@moderate
@given(frames(), st.data())
def test_selecting_turns_the_other_rows_into_silence(frame: Frame, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.booleans(), min_size=len(frame), max_size=len(frame)))
    mask = np.array(chosen, dtype=np.bool_)
    kept = frame.select(mask)
    assert frame.select(np.flatnonzero(mask)) == kept
    wanted = {int(tick) for tick, here in zip(frame.ticks, chosen, strict=True) if here}
    expected = {tick: what if tick in wanted else SILENCE for tick, what in said(frame).items()}
    assert said(kept) == expected
    assert (kept.low, kept.high, kept.final) == (frame.low, frame.high, frame.final)


@moderate
@given(frames(), bounds, bounds)
def test_rows_are_found_by_their_ticks(frame: Frame, low: int, high: int) -> None:
    start, stop = frame.rows_within(low, high)
    found = [int(tick) for tick in frame.ticks[start:stop]]
    assert found == [int(tick) for tick in frame.ticks if low <= tick < high]


@moderate
@given(frames(), st.data())
def test_ranges_and_arrays_of_ticks_behave_alike(frame: Frame, data: st.DataObject) -> None:
    other = Frame(frame.low, frame.high, frame.tick_array(), frame.batch, final=frame.final)
    low, high = data.draw(bounds), data.draw(bounds)
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(frame), max_size=len(frame))), np.bool_
    )
    assert other == frame
    assert other.rows_within(low, high) == frame.rows_within(low, high)
    assert other.slice(low, high) == frame.slice(low, high)
    assert other.select(mask) == frame.select(mask)


def test_all_and_nothing_need_no_mask() -> None:
    frame = frame_of(0, 10, [2, 3, 4])
    assert frame.select(True) is frame
    assert frame.select(np.ones(3, np.bool_)) is frame
    nothing = frame.select(False)
    assert nothing == Frame(0, 10)
    assert nothing.batch is NO_ROWS
    assert frame.select(np.zeros(3, np.bool_)) == nothing


def test_a_frame_without_rows_is_its_own_selection() -> None:
    silence = Frame(0, 10, final=True)
    assert silence.select(False) is silence
    assert silence.select(np.zeros(0, np.bool_)) is silence


@pytest.mark.parametrize("length", [2, 4])
def test_a_mask_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(IndexError, match=f"a mask of {length} for 3 rows"):
        frame_of(0, 10, [2, 3, 4]).select(np.ones(length, np.bool_))


@pytest.mark.parametrize("scalar", [np.True_, np.False_])
def test_a_numpy_boolean_is_not_taken_for_a_mask_of_one_row(scalar: Any) -> None:
    with pytest.raises(TypeError):
        frame_of(0, 10, [2, 3, 4]).select(scalar)


def test_a_slice_that_cuts_nothing_is_the_frame_itself() -> None:
    frame = frame_of(5, 10, [6, 8])
    assert frame.slice(5, 10) is frame
    assert frame.slice(-(2**63), NEVER) is frame


def test_a_slice_that_drops_only_silence_keeps_the_batch() -> None:
    frame = frame_of(0, 10, [4, 5])
    assert frame.slice(3, 7).batch is frame.batch


@pytest.mark.parametrize(("low", "high"), [(30, 40), (0, 5), (15, 15), (18, 12)])
def test_a_slice_elsewhere_claims_nothing(low: int, high: int) -> None:
    cut = frame_of(10, 20, [12, 15]).slice(low, high)
    assert cut.low == cut.high
    assert len(cut) == 0


def test_consecutive_rows_carry_no_tick_column() -> None:
    cut = frame_of(0, 10, [3, 4, 5, 6]).slice(4, 6)
    assert cut.ticks == range(4, 6)
    assert cut.tick_array().tolist() == [4, 5]


def test_the_weight_counts_header_ticks_and_rows() -> None:
    assert Frame(0, 10).weight == FRAME_HEADER_BYTES
    assert Frame(0, 10, final=True).weight == FRAME_HEADER_BYTES
    dense = frame_of(0, 10, [3, 4])
    assert dense.weight == FRAME_HEADER_BYTES + len(dense.batch.encode())
    sparse = frame_of(0, 10, [3, 5])
    assert sparse.weight == FRAME_HEADER_BYTES + 16 + len(sparse.batch.encode())


def test_frames_are_equal_when_they_say_the_same() -> None:
    cut = frame_of(0, 20, list(range(20))).slice(0, 3)
    built = frame_of(0, 3, [0, 1, 2])
    assert cut == built
    assert cut != frame_of(0, 4, [0, 1, 2])
    assert cut != frame_of(-1, 3, [0, 1, 2])
    assert cut != frame_of(0, 3, [0, 1])
    assert cut != frame_of(0, 3, [0, 1, 2], final=True)
    assert cut != Frame(0, 3, range(3), Batch.from_rows([({}, b"")] * 3))
    assert cut != "frame"


def test_equal_rows_under_other_dictionaries_are_equal_frames() -> None:
    rows = [({"s": name}, b"") for name in ("a", "b", "a", "a")]
    whole = Frame(0, 4, range(4), Batch.from_rows(list(rows)))
    cut, built = whole.slice(2, 4), Frame(2, 4, range(2, 4), Batch.from_rows(list(rows[2:])))
    narrowed = whole.select(np.array([True, False, True, True]))
    assert cut == built
    assert narrowed.batch.columns[0].dictionary == ("a", "b")
    assert narrowed == Frame(
        0, 4, np.array([0, 2, 3], "<i8"), Batch.from_rows([rows[0], *rows[2:]])
    )


def test_a_frame_is_no_key() -> None:
    with pytest.raises(TypeError):
        hash(Frame(0, 1))


def test_a_frame_shows_its_interval_and_its_rows() -> None:
    assert repr(frame_of(0, 10, [1, 2])) == "Frame([0, 10), 2 rows)"
    assert repr(Frame(0, 10, final=True)) == "Frame([0, 10), final)"


def test_a_new_frame_is_silence() -> None:
    silence = Frame(3, 9)
    assert len(silence) == 0
    assert silence.ticks == NO_TICKS
    assert not silence.final


@moderate
@given(st.lists(frames(), max_size=6))
def test_folding_silence_says_the_same_in_fewer_frames(parts: list[Frame]) -> None:
    folded = fold_silence(parts)

    def all_said(sayings: list[Frame]) -> list[tuple[bool, int, bytes | None]]:
        return [(part.final, *each) for part in sayings for each in said(part).items()]

    assert all_said(folded) == all_said(parts)
    for first, second in pairwise(folded):
        if first.high == second.low and first.final == second.final:
            assert len(first)
            assert len(second)

"""Filtered frames are joined, and nothing that was silent is forgotten or invented."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.services.guaranteed.relay.joined_silence import JoinedSilence

INTERVAL = 100


def rows(low: int, high: int, *ticks: int) -> Frame:
    batch = Batch.from_rows([({"tick": tick}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), batch)


def test_filtered_frames_wait_for_the_interval() -> None:
    silence = JoinedSilence(INTERVAL)
    assert silence.filtered("a", Frame(0, 10), 0) == []
    assert silence.filtered("a", Frame(10, 20), 50) == []
    assert silence.filtered("a", Frame(20, 30), 100) == [Frame(0, 30)]
    assert silence.filtered("a", Frame(30, 40), 101) == []


def test_the_next_frame_with_rows_reaches_back_over_it() -> None:
    silence = JoinedSilence(INTERVAL)
    silence.filtered("a", Frame(0, 10), 0)
    assert silence.joined("a", rows(10, 20, 15)) == [rows(0, 20, 15)]
    assert silence.joined("a", rows(20, 30, 25)) == [rows(20, 30, 25)]


def test_children_do_not_share_their_silence() -> None:
    silence = JoinedSilence(INTERVAL)
    silence.filtered("a", Frame(0, 10), 0)
    assert silence.joined("b", rows(10, 20, 15)) == [rows(10, 20, 15)]
    assert silence.take("a") == Frame(0, 10)
    assert silence.take("a") is None


def test_a_gap_is_not_silence() -> None:
    silence = JoinedSilence(INTERVAL)
    silence.filtered("a", Frame(0, 10), 0)
    assert silence.filtered("a", Frame(20, 30), 1) == [Frame(0, 10)]
    assert silence.joined("a", rows(40, 50, 45)) == [Frame(20, 30), rows(40, 50, 45)]


def test_what_is_final_is_not_joined() -> None:
    silence = JoinedSilence(INTERVAL)
    silence.filtered("a", Frame(0, 10), 0)
    lost = Frame(10, 20, final=True)
    assert silence.filtered("a", lost, 1) == [Frame(0, 10), lost]


def test_what_is_held_for_a_child_that_is_gone_is_forgotten() -> None:
    silence = JoinedSilence(INTERVAL)
    silence.filtered("a", Frame(0, 10), 0)
    silence.forget("a")
    assert silence.take("a") is None


@given(st.lists(st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 60)), max_size=40))
def test_what_is_told_and_held_is_what_was_live(pieces: list[tuple[int, bool, int]]) -> None:
    silence = JoinedSilence(INTERVAL)
    told: list[Frame] = []
    wanted: list[int] = []
    low = now = 0
    for span, has_row, wait in pieces:
        now += wait
        if has_row:
            wanted.append(low)
            told += silence.joined("a", rows(low, low + span, low))
        else:
            told += silence.filtered("a", Frame(low, low + span), now)
        low += span
    held = silence.take("a")
    told += [] if held is None else [held]
    end = 0
    for frame in told:
        assert frame.low == end
        end = frame.high
    assert end == low
    assert [tick for frame in told for tick in frame.ticks] == wanted

"""The cache of live knowledge: what it keeps, what it finds, and its bound."""

from __future__ import annotations

import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import FRAME_HEADER_BYTES, Frame
from penstock.services.guaranteed.relay.cache import COMPACT_AT, RelayCache


def frame(low: int, high: int, *ticks: int) -> Frame:
    rows = Batch.from_rows([({"tick": tick}, b"") for tick in ticks])
    return Frame(low, high, np.array(ticks, dtype="<i8"), rows)


def test_what_was_kept_is_found_cut_to_what_was_asked_for() -> None:
    cache = RelayCache(1 << 20)
    cache.add(frame(0, 10, 3, 7))
    cache.add(frame(10, 20, 12))

    found, gaps, _ = cache.find(5, 15)
    assert found == [frame(5, 10, 7), frame(10, 15, 12)]
    assert gaps == []


def test_gaps_are_told() -> None:
    cache = RelayCache(1 << 20)
    cache.add(frame(10, 20))
    cache.add(frame(30, 40))

    found, gaps, _ = cache.find(0, 50)
    assert found == [frame(10, 20), frame(30, 40)]
    assert gaps == [(0, 10), (20, 30), (40, 50)]


def test_an_empty_cache_finds_nothing() -> None:
    assert RelayCache(1 << 20).find(5, 9) == ([], [(5, 9)], 9)


def test_a_frame_that_does_not_lie_behind_the_last_is_not_kept() -> None:
    cache = RelayCache(1 << 20)
    cache.add(frame(10, 20))
    cache.add(frame(15, 30))
    cache.add(frame(0, 5))

    assert len(cache) == 1


def test_the_oldest_make_room() -> None:
    cache = RelayCache(3 * FRAME_HEADER_BYTES)
    for low in range(0, 50, 10):
        cache.add(Frame(low, low + 10))

    assert len(cache) == 3
    assert cache.weight == 3 * FRAME_HEADER_BYTES
    assert cache.find(0, 50)[1] == [(0, 20)]


def test_a_frame_larger_than_the_bound_is_not_kept() -> None:
    cache = RelayCache(FRAME_HEADER_BYTES - 1)
    cache.add(Frame(0, 10))

    assert (len(cache), cache.weight) == (0, 0)
    assert cache.find(0, 10) == ([], [(0, 10)], 10)


def test_dropped_frames_leave_the_list() -> None:
    cache = RelayCache(10 * FRAME_HEADER_BYTES)
    for low in range(3 * COMPACT_AT):
        cache.add(Frame(low, low + 1))

    assert len(cache) == 10
    assert len(cache._frames) <= COMPACT_AT + 10
    end = 3 * COMPACT_AT
    assert cache.find(end - 12, end)[1] == [(end - 12, end - 10)]


def test_a_search_stops_after_as_many_frames_as_are_wanted() -> None:
    cache = RelayCache(1 << 20)
    for low in (0, 10, 30, 40):
        cache.add(frame(low, low + 10, low))

    assert cache.find(5, 45, 2) == ([frame(5, 10), frame(10, 20, 10)], [], 20)
    assert cache.find(20, 45, 1) == ([frame(30, 40, 30)], [(20, 30)], 40)
    assert cache.find(30, 45, 2) == ([frame(30, 40, 30), frame(40, 45, 40)], [], 45)


def test_a_dropped_frame_is_let_go_at_once() -> None:
    cache = RelayCache(FRAME_HEADER_BYTES)
    dropped = Frame(0, 10)
    references = sys.getrefcount(dropped)
    cache.add(dropped)
    cache.add(Frame(10, 20))

    assert sys.getrefcount(dropped) == references


spans = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=12)


@given(spans=spans, kept=st.integers(1, 8), low=st.integers(0, 60), length=st.integers(0, 30))
def test_found_and_gaps_are_the_whole_of_what_was_asked_for(
    spans: list[tuple[int, int]], kept: int, low: int, length: int
) -> None:
    cache = RelayCache(kept * FRAME_HEADER_BYTES)
    held: list[set[int]] = []
    end = 0
    for skip, span in spans:
        cache.add(Frame(end + skip, end + skip + span))
        held.append(set(range(end + skip, end + skip + span)))
        end += skip + span
    known = set().union(*held[-kept:]) if held else set()
    asked = set(range(low, low + length))

    found, gaps, _ = cache.find(low, low + length)

    assert {tick for part in found for tick in range(part.low, part.high)} == asked & known
    assert {tick for a, b in gaps for tick in range(a, b)} == asked - known

"""Interval sets against the plainest model there is: a Python set of ticks."""

from __future__ import annotations

import itertools
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.core.clock import NEVER
from penstock.core.intervals import Interval, IntervalSet

moderate = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SPACE = 40
"""Small enough that random intervals overlap, touch and miss each other all the time."""

ticks = st.integers(0, SPACE)
bounds = st.tuples(ticks, ticks)  # includes empty and inverted ones
changes = st.lists(st.tuples(st.sampled_from(["add", "remove"]), bounds), max_size=25)


def applied(steps: list[tuple[str, Interval]]) -> tuple[IntervalSet, set[int]]:
    held, model = IntervalSet(), set[int]()
    for verb, (low, high) in steps:
        if verb == "add":
            held.add(low, high)
            model |= set(range(low, high))
        else:
            held.remove(low, high)
            model -= set(range(low, high))
    return held, model


def ticks_of(intervals: list[Interval]) -> set[int]:
    return {tick for low, high in intervals for tick in range(low, high)}


def assert_maximal(intervals: list[Interval]) -> None:
    """Rules 1 and 2: each interval holds a tick, and no two touch or overlap."""
    assert all(low < high for low, high in intervals)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(intervals))


@moderate
@given(changes)
def test_a_set_holds_exactly_the_ticks_of_the_model(steps: list[tuple[str, Interval]]) -> None:
    held, model = applied(steps)
    assert_maximal(list(held))
    assert ticks_of(list(held)) == model
    assert held.span == len(model)
    assert len(held) == len(list(held))
    assert [tick in held for tick in range(-1, SPACE + 2)] == [
        tick in model for tick in range(-1, SPACE + 2)
    ]


@moderate
@given(changes, bounds)
def test_parts_and_gaps_divide_a_window_between_them(
    steps: list[tuple[str, Interval]], window: Interval
) -> None:
    held, model = applied(steps)
    low, high = window
    inside = set(range(low, high))
    parts, gaps = held.within(low, high), held.gaps(low, high)
    assert_maximal(parts)
    assert_maximal(gaps)
    assert ticks_of(parts) == inside & model
    assert ticks_of(gaps) == inside - model
    assert held.covers(low, high) == (inside <= model)


@moderate
@given(changes, ticks)
def test_the_prefix_ends_at_the_first_tick_that_is_missing(
    steps: list[tuple[str, Interval]], start: int
) -> None:
    held, model = applied(steps)
    expected = start
    while expected in model:
        expected += 1
    assert held.prefix_end(start) == expected


@moderate
@given(st.lists(bounds, max_size=12), st.randoms(use_true_random=False))
def test_the_order_and_the_repetition_of_additions_do_not_matter(
    intervals: list[Interval], random: Random
) -> None:
    shuffled = intervals * 2
    random.shuffle(shuffled)
    assert IntervalSet(intervals) == IntervalSet(shuffled)


@moderate
@given(changes)
def test_equal_ticks_mean_equal_sets(steps: list[tuple[str, Interval]]) -> None:
    held, model = applied(steps)
    rebuilt = IntervalSet((tick, tick + 1) for tick in model)
    assert held == rebuilt
    rebuilt.add(SPACE + 5, SPACE + 6)
    assert held != rebuilt


@moderate
@given(changes, bounds)
def test_removing_undoes_adding_where_nothing_was_held(
    steps: list[tuple[str, Interval]], window: Interval
) -> None:
    held, _ = applied(steps)
    before = list(held)
    missing = held.gaps(*window)
    held.add(*window)
    for low, high in missing:
        held.remove(low, high)
    assert list(held) == before


def test_touching_intervals_are_merged() -> None:
    held = IntervalSet([(0, 5), (10, 15)])
    held.add(5, 10)
    assert list(held) == [(0, 15)]


def test_removing_the_middle_leaves_both_ends() -> None:
    held = IntervalSet([(0, 10)])
    held.remove(3, 7)
    assert list(held) == [(0, 3), (7, 10)]


@pytest.mark.parametrize(("low", "high"), [(5, 5), (7, 3)])
def test_an_interval_without_ticks_changes_nothing_and_holds_nothing(low: int, high: int) -> None:
    held = IntervalSet([(0, 10)])
    held.add(low, high)
    held.remove(low, high)
    assert list(held) == [(0, 10)]
    assert held.within(low, high) == []
    assert held.gaps(low, high) == []
    assert held.covers(low, high)


def test_the_whole_line_of_64_bit_ticks_fits() -> None:
    held = IntervalSet([(-(2**63), NEVER)])
    held.remove(0, 1)
    assert list(held) == [(-(2**63), 0), (1, NEVER)]
    assert held.prefix_end(1) == NEVER
    assert held.gaps(-(2**63), NEVER) == [(0, 1)]
    assert held.span == 2**64 - 2


def test_a_set_is_not_hashable_and_compares_only_with_sets() -> None:
    held = IntervalSet([(0, 1)])
    with pytest.raises(TypeError):
        hash(held)
    assert held != [(0, 1)]


def test_the_representation_shows_the_intervals() -> None:
    assert repr(IntervalSet([(4, 6), (0, 2)])) == "IntervalSet([(0, 2), (4, 6)])"

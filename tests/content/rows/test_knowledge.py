"""Knowledge maps against a dictionary from tick to what is said of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame, Ticks
from penstock.content.rows.knowledge import KnowledgeMap
from penstock.core.intervals import Interval

moderate = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])

SPACE = 32
FINAL_BELOW = 4
"""In the stream of these tests the first ticks are final for everybody who speaks of them."""
EVERYWHERE = (-(2**63), 2**63 - 1)

Saying = str | bytes

# The truth of the stream: final, then stretches of consecutive rows, lone rows and silence.
ROW_TICKS = [*range(6, 12), 14, 17, *range(20, 23), 25, 27, 29]


def truth(tick: int) -> Saying:
    if tick < FINAL_BELOW:
        return "final"
    return b"%d" % tick if tick in ROW_TICKS else "silence"


def frame_of(low: int, high: int) -> Frame:
    """What is true of ``[low, high)``, which lies on one side of the final prefix."""
    if low < FINAL_BELOW:
        return Frame(low, high, final=True)
    held = [tick for tick in ROW_TICKS if low <= tick < high]
    if not held:
        return Frame(low, high)
    batch = Batch.from_rows([({"n": tick}, b"%d" % tick) for tick in held])
    ticks: Ticks = np.array(held, dtype="<i8")
    if held == list(range(held[0], held[-1] + 1)):
        ticks = range(held[0], held[-1] + 1)
    return Frame(low, high, ticks, batch)


def said(frames: list[Frame]) -> dict[int, Saying]:
    """What frames say of each tick; they must be in order and disjoint."""
    assert all(frame.low < frame.high for frame in frames)
    assert all(first.high <= second.low for first, second in itertools.pairwise(frames))
    found: dict[int, Saying] = {}
    for frame in frames:
        kind = "final" if frame.final else "silence"
        found |= dict.fromkeys(range(frame.low, frame.high), kind)
        found |= {
            int(tick): payload
            for tick, payload in zip(frame.ticks, frame.batch.payload_rows(), strict=True)
        }
    return found


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    final = draw(st.integers(0, 5)) == 0
    bottom, top = (0, FINAL_BELOW) if final else (FINAL_BELOW, SPACE)
    low = draw(st.integers(bottom, top - 1))
    return low, draw(st.integers(low, top))


changes = st.lists(
    st.one_of(
        st.tuples(st.just("insert"), intervals()),
        st.tuples(st.just("insert"), intervals()),
        st.tuples(st.just("forget"), st.tuples(st.integers(-1, SPACE + 1), st.just(0))),
        st.tuples(st.just("pop"), st.just((0, 0))),
    ),
    max_size=20,
)
windows = st.tuples(st.integers(-2, SPACE + 2), st.integers(-2, SPACE + 2))


def applied(steps: list[tuple[str, Interval]]) -> tuple[KnowledgeMap, dict[int, Saying]]:
    """A map and its model after the same steps; each step's answer is checked on the way."""
    held, model = KnowledgeMap(), dict[int, Saying]()
    for verb, (low, high) in steps:
        if verb == "insert":
            news = said(held.insert(frame_of(low, high)))
            assert news == {t: truth(t) for t in range(low, high) if t not in model}
            model |= news
        elif verb == "forget":
            held.forget_below(low)
            model = {tick: what for tick, what in model.items() if tick >= low}
        elif len(held):
            popped = said([held.pop_first()])
            assert min(popped) == min(model)
            for tick in popped:
                assert model.pop(tick) == popped[tick]
    return held, model


def weighed(held: KnowledgeMap) -> int:
    return sum(frame.weight for frame in held.slice(*EVERYWHERE))


@moderate
@given(changes)
def test_a_map_says_what_the_model_says(steps: list[tuple[str, Interval]]) -> None:
    held, model = applied(steps)
    assert said(held.slice(*EVERYWHERE)) == model
    assert held.low == min(model, default=None)
    assert held.high == (max(model) + 1 if model else None)
    assert len(held) == len(held.slice(*EVERYWHERE))


@moderate
@given(changes)
def test_the_weight_never_drifts(steps: list[tuple[str, Interval]]) -> None:
    held, _ = applied(steps)
    assert held.weight == weighed(held)
    held.forget_below(SPACE)
    assert (held.weight, len(held)) == (0, 0)


@moderate
@given(changes, windows)
def test_a_window_divides_into_what_is_said_and_gaps(
    steps: list[tuple[str, Interval]], window: Interval
) -> None:
    held, model = applied(steps)
    inside = range(*window)
    assert said(held.slice(*window)) == {tick: model[tick] for tick in inside if tick in model}
    gaps = held.gaps(*window)
    assert [tick for gap in gaps for tick in range(*gap)] == [
        tick for tick in inside if tick not in model
    ]
    assert all(first[1] < second[0] for first, second in itertools.pairwise(gaps))


@moderate
@given(changes, st.integers(-2, SPACE + 2))
def test_the_prefix_ends_where_nothing_is_known(
    steps: list[tuple[str, Interval]], start: int
) -> None:
    held, model = applied(steps)
    assert held.prefix_end(start) == next(t for t in itertools.count(start) if t not in model)


@moderate
@given(st.lists(intervals(), max_size=10), st.data())
def test_the_order_and_the_repetition_of_frames_do_not_matter(
    spans: list[Interval], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(spans * 2))
    one, other = KnowledgeMap(), KnowledgeMap()
    for span in spans:
        one.insert(frame_of(*span))
    for span in shuffled:
        other.insert(frame_of(*span))
    assert said(one.slice(*EVERYWHERE)) == said(other.slice(*EVERYWHERE))
    assert one.gaps(0, SPACE) == other.gaps(0, SPACE)


@moderate
@given(changes, intervals())
def test_what_is_known_is_no_news(steps: list[tuple[str, Interval]], span: Interval) -> None:
    held, _ = applied(steps)
    held.insert(frame_of(*span))
    before = (held.weight, len(held))
    assert held.insert(frame_of(*span)) == []
    assert (held.weight, len(held)) == before


def test_only_the_unknown_parts_of_a_frame_are_news() -> None:
    held = KnowledgeMap()
    held.insert(frame_of(8, 10))
    held.insert(frame_of(20, 21))
    assert held.insert(frame_of(6, 23)) == [frame_of(6, 8), frame_of(10, 20), frame_of(21, 23)]


def test_a_frame_that_is_all_news_is_kept_as_it_is() -> None:
    held, frame = KnowledgeMap(), frame_of(6, 12)
    (news,) = held.insert(frame)
    assert news is frame
    (kept,) = held.slice(6, 12)
    assert kept is frame


def test_a_frame_without_ticks_is_not_kept() -> None:
    held = KnowledgeMap()
    assert held.insert(Frame(5, 5)) == []
    assert (len(held), held.weight, held.low) == (0, 0, None)
    held.insert(Frame(5, 8))
    assert held.insert(Frame(8, 8)) == []
    assert held.insert(Frame(6, 6)) == []
    assert len(held) == 1


@pytest.mark.parametrize(("low", "high"), [(7, 7), (9, 7)])
def test_nothing_is_said_of_a_window_without_ticks(low: int, high: int) -> None:
    held = KnowledgeMap()
    held.insert(frame_of(6, 12))
    assert held.slice(low, high) == []
    assert held.gaps(low, high) == []


def test_rows_that_are_held_are_not_replaced_by_final() -> None:
    held = KnowledgeMap()
    held.insert(frame_of(6, 9))
    assert held.insert(Frame(4, 12, final=True)) == [
        Frame(4, 6, final=True),
        Frame(9, 12, final=True),
    ]
    assert held.slice(6, 9) == [frame_of(6, 9)]


def test_what_was_called_final_first_stays_final() -> None:
    held = KnowledgeMap()
    held.insert(Frame(4, 12, final=True))
    assert held.insert(frame_of(6, 9)) == []
    assert held.slice(6, 9) == [Frame(6, 9, final=True)]


def test_forgetting_cuts_the_frame_that_straddles_the_tick() -> None:
    held = KnowledgeMap()
    held.insert(frame_of(6, 12))
    held.forget_below(9)
    assert held.slice(*EVERYWHERE) == [frame_of(9, 12)]
    assert held.weight == frame_of(9, 12).weight


def test_what_was_forgotten_is_unknown_again() -> None:
    held = KnowledgeMap()
    held.insert(frame_of(6, 12))
    held.forget_below(9)
    assert held.gaps(6, 12) == [(6, 9)]
    assert held.insert(frame_of(6, 12)) == [frame_of(6, 9)]


def test_popping_makes_room_from_the_lowest_frame_on() -> None:
    held = KnowledgeMap()
    held.insert(frame_of(20, 23))
    held.insert(frame_of(6, 12))
    assert held.pop_first() == frame_of(6, 12)
    assert held.gaps(6, 23) == [(6, 20)]
    assert held.pop_first() == frame_of(20, 23)
    assert held.weight == 0
    with pytest.raises(IndexError):
        held.pop_first()

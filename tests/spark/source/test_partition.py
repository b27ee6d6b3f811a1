from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.core.intervals import IntervalSet
from penstock.spark.source.partition import partition

BOUNDS = st.dictionaries(
    st.sampled_from("pqrst"),
    st.tuples(st.integers(0, 10 * SECOND), st.integers(0, 10 * SECOND)),
)


@given(BOUNDS, st.integers(1, 8), st.integers(1, 8), st.integers(-1, 11 * SECOND))
def test_every_tick_is_read_once_by_a_bounded_number_of_tasks(
    bounds: dict[str, tuple[int, int]], least: int, most: int, rows_end: int
) -> None:
    lows = {pubend: low for pubend, (low, _) in bounds.items()}
    highs = {pubend: high for pubend, (_, high) in bounds.items()}
    ends = dict.fromkeys(bounds, rows_end)
    made = partition(lows, highs, least=least, most=max(least, most), rows_ends=ends)
    assert len(made) <= max(least, most)
    assert all(each.pieces for each in made)
    covered: dict[str, IntervalSet] = {pubend: IntervalSet() for pubend in bounds}
    total = 0
    for each in made:
        for piece in each.pieces:
            covered[piece.pubend].add(piece.low, piece.high)
            total += piece.high - piece.low
    expected = {pubend: max(0, high - low) for pubend, (low, high) in bounds.items()}
    assert {pubend: ticks.span for pubend, ticks in covered.items()} == expected
    assert total == sum(expected.values())


def test_one_long_stream_is_split_for_all_cores() -> None:
    made = partition({"p": 0}, {"p": 10 * SECOND}, least=1, most=2)
    assert [[(piece.low, piece.high) for piece in each.pieces] for each in made] == [
        [(0, 5 * SECOND)],
        [(5 * SECOND, 10 * SECOND)],
    ]


def test_silence_at_the_end_is_not_split() -> None:
    made = partition({"p": 0}, {"p": 100 * SECOND}, least=1, most=2, rows_ends={"p": 10 * SECOND})
    assert [[(piece.low, piece.high) for piece in each.pieces] for each in made] == [
        [(0, 5 * SECOND)],
        [(5 * SECOND, 100 * SECOND)],
    ]


def test_a_short_interval_is_one_task() -> None:
    assert len(partition({"p": 0}, {"p": SECOND // 100}, least=1, most=8)) == 1


def test_many_streams_share_the_tasks() -> None:
    names = {f"p{number}": number for number in range(10)}
    made = partition(dict.fromkeys(names, 0), dict.fromkeys(names, SECOND), least=1, most=4)
    assert sorted(len(each.pieces) for each in made) == [2, 2, 3, 3]

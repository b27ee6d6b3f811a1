from hypothesis import given
from hypothesis import strategies as st

from penstock.store.segments.sparse_index import SparseIndex

START = 4096
END = 10**6


@st.composite
def segments(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Records of a segment as (low, high, offset, end)."""
    records, tick, offset = [], 0, START
    for gap, width, size in draw(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(40, 400)), max_size=60)
    ):
        low = tick + gap
        records.append((low, low + width, offset, offset + size))
        tick, offset = low + width, offset + size
    return records


@given(segments(), st.integers(0, 300), st.integers(0, 300), st.integers(1, 1000))
def test_everything_that_touches_lies_between_start_and_stop(
    records: list[tuple[int, int, int, int]], low: int, high: int, interval_bytes: int
) -> None:
    index = SparseIndex(interval_bytes)
    for record_low, _, offset, _ in records:
        index.note(record_low, offset)
    start = index.start_for(low, START)
    stop = index.stop_for(high, END)
    for record_low, record_high, offset, end in records:
        if record_high > low and record_low < high:
            assert start <= offset < end <= stop


def test_entries_are_an_interval_apart() -> None:
    index = SparseIndex(1000)
    for number in range(100):
        index.note(number, START + 100 * number)
    assert len(index) == 10
    assert index.start_for(15, 0) == START + 1000
    assert index.stop_for(15, END) == START + 2000
    assert index.stop_for(95, END) == END

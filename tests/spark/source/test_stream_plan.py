from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.spark.source.stream_plan import Backlog, Limits


class Log:
    """Streams with rows at given ticks; records what was read."""

    def __init__(self, rows: dict[str, list[int]], frame_rows: int = 3) -> None:
        self.rows = rows
        self.frame_rows = frame_rows
        self.read_rows = 0

    def read(self, pubend: str, low: int, high: int) -> Iterable[Frame]:
        ticks = [tick for tick in self.rows[pubend] if low <= tick < high]
        at = low
        for first in range(0, len(ticks), self.frame_rows):
            part = ticks[first : first + self.frame_rows]
            self.read_rows += len(part)
            batch = Batch.from_rows([({}, b"x" * 100) for _ in part])
            end = part[-1] + 1
            frame = Frame(at, end, range(part[0], part[0] + len(part)), batch)
            at = end
            yield frame

    def count(self, lows: dict[str, int], ends: dict[str, int]) -> int:
        return sum(
            1
            for pubend, ticks in self.rows.items()
            for tick in ticks
            if lows[pubend] <= tick < ends[pubend]
        )


def consecutive(first: int, count: int) -> list[int]:
    return list(range(first, first + count))


def test_without_limits_a_batch_ends_at_the_heads() -> None:
    log = Log({"p": consecutive(0, 10)})
    assert Backlog(Limits(), log.read).ends({"p": 0}, {"p": 50}) == {"p": 50}
    assert log.read_rows == 0


def test_a_limit_on_the_span_needs_no_reading() -> None:
    log = Log({"p": [], "q": []})
    backlog = Backlog(Limits(max_span_ns=10), log.read)
    assert backlog.ends({"p": 5, "q": 12}, {"p": 100, "q": 100}) == {"p": 15, "q": 15}
    assert backlog.ends({"p": 5, "q": 100}, {"p": 5, "q": 200}) == {"p": 5, "q": 110}


def test_a_limit_on_rows_cuts_all_pubends_at_one_instant() -> None:
    log = Log({"p": consecutive(0, 100), "q": consecutive(50, 100)})
    ends = Backlog(Limits(max_rows=70), log.read).ends({"p": 0, "q": 0}, {"p": 200, "q": 200})
    assert ends == {"p": 60, "q": 60}
    assert log.count({"p": 0, "q": 0}, ends) == 70


def test_a_limit_on_bytes_always_allows_one_row() -> None:
    log = Log({"p": consecutive(0, 10)}, frame_rows=1)
    assert Backlog(Limits(max_bytes=1), log.read).ends({"p": 0}, {"p": 50}) == {"p": 1}


def test_counted_rows_are_not_read_again() -> None:
    log = Log({"p": consecutive(0, 30)}, frame_rows=10)
    backlog = Backlog(Limits(max_rows=20), log.read)
    assert backlog.ends({"p": 0}, {"p": 50}) == {"p": 20}
    assert backlog.ends({"p": 20}, {"p": 50}) == {"p": 50}
    assert log.read_rows == 30


def test_rows_are_counted_no_further_than_needed() -> None:
    log = Log({"p": consecutive(0, 1000)}, frame_rows=10)
    backlog = Backlog(Limits(min_rows=25), log.read)
    assert backlog.rows_up_to({"p": 0}, {"p": 2000}, 25) == 25
    assert log.read_rows == 30


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("pqr"),
        st.lists(st.tuples(st.integers(0, 20), st.integers(1, 12)), max_size=6),
        min_size=1,
    ),
    st.integers(1, 15),
)
def test_batches_within_the_limit_cover_everything_once(
    shapes: dict[str, list[tuple[int, int]]], max_rows: int
) -> None:
    rows: dict[str, list[int]] = {}
    for pubend, pieces in shapes.items():
        ticks: list[int] = []
        at = 0
        for gap, count in pieces:
            ticks += consecutive(at + gap, count)
            at += gap + count
        rows[pubend] = ticks
    log = Log(rows, frame_rows=1)
    backlog = Backlog(Limits(max_rows=max_rows), log.read)
    heads = dict.fromkeys(rows, 300)
    lows = dict.fromkeys(rows, 0)
    seen = 0
    for _ in range(1000):
        if lows == heads:
            break
        ends = backlog.ends(lows, heads)
        assert all(lows[pubend] <= ends[pubend] <= heads[pubend] for pubend in rows)
        assert ends != lows
        # At one instant every pubend may have a row: a cut cannot separate them.
        assert log.count(lows, ends) <= max(max_rows, len(rows))
        seen += log.count(lows, ends)
        lows = ends
    assert seen == sum(map(len, rows.values()))

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.guaranteed.staging.stage_table import StageKey, StageTable

ANY_TEXT = st.text(st.characters(exclude_categories=("Cs",)))


@given(ANY_TEXT, st.integers(0, 2**63 - 1), ANY_TEXT)
def test_a_key_is_read_as_it_was_written(sink: str, epoch: int, stage: str) -> None:
    key = StageKey(sink, epoch, stage)
    assert StageKey.parse(key.text()) == key


def table() -> StageTable:
    """Three stages: two of one epoch, one of the next."""
    made = StageTable()
    made.add(StageKey("s", 0, "a"), (0, 2), 2, 100, 10)
    made.add(StageKey("s", 0, "b"), (2, 3), 1, 50, 20)
    made.add(StageKey("s", 1, "a"), (3, 4), 1, 50, 30)
    return made


def test_rows_and_bytes_are_counted() -> None:
    made = table()
    stage = made.add(StageKey("s", 0, "a"), (4, 6), 2, 100, 40)
    assert (stage.rows, stage.pieces, made.size_bytes, len(made)) == (4, [(0, 2), (4, 6)], 300, 3)


def test_what_is_dropped_gives_its_bytes_back() -> None:
    made = table()
    made.drop_epoch("s", 0)
    assert (len(made), made.size_bytes, made.lowest()) == (1, 50, 3)
    made.drop_epoch("other", 9)
    made.drop(StageKey("s", 1, "a"))
    assert (len(made), made.size_bytes, made.lowest()) == (0, 0, None)


def test_the_stage_that_was_touched_longest_ago_expires_first() -> None:
    made = table()
    made.add(StageKey("s", 0, "a"), (4, 5), 1, 10, 40)
    assert made.first_expiry(100) == 120
    assert not made.expire(119, 100)
    assert made.expire(120, 100)
    assert made.get(StageKey("s", 0, "b")) is None
    assert made.first_expiry(100) == 130
    assert made.expire(1000, 100)
    assert made.first_expiry(100) is None

"""The table of origins, against a naive model."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.queues.log.origins import MOST_INTERVALS, OriginTable

ranges = st.tuples(st.integers(0, 60), st.integers(1, 10))


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "floor"]), ranges)))
def test_the_table_of_origins_is_a_set(steps):
    table, model = OriginTable(10), set()
    for what, (first, count) in steps:
        numbers = set(range(first, first + count))
        if what == "add":
            table.add("o", first, count)
            model |= numbers
        elif what == "remove":
            table.remove("o", first, count)
            model -= numbers
        else:
            table.raise_floor("o", first)
            model |= set(range(first))
    new = [n for low, high in table.new_numbers("o", 0, 100) for n in range(low, high)]
    assert new == [n for n in range(100) if n not in model]
    assert table.next_sequence("o") == max(model, default=-1) + 1
    copy = OriginTable(10)
    copy.load(table.dump())
    assert copy.dump() == table.dump()


def test_a_saved_table_leaves_out_what_the_store_may_still_refuse():
    table = OriginTable(10)
    table.add("o", 0, 10)
    assert table.dump([("o", 4, 3)]) == [("o", [(0, 4), (7, 10)])]
    assert table.dump() == [("o", [(0, 10)])]


def test_the_least_recent_origin_is_forgotten_first():
    table = OriginTable(2)
    for origin in ("a", "b", "a", "c"):
        table.add(origin, 0, 1)
    assert [origin for origin, _ in table.dump()] == ["a", "c"]


def test_a_producer_with_too_many_gaps_loses_its_lowest_numbers():
    table = OriginTable(10)
    for number in range(MOST_INTERVALS + 1):
        table.add("o", 2 * number, 1)
    table.forget_old("o")
    assert table.forgotten("o", 0)
    assert not table.forgotten("o", 2 * MOST_INTERVALS)
    assert not table.forgotten("other", 0)


def test_the_latest_producers_are_listed_first():
    table = OriginTable(10)
    for origin in ("producer/a", "alias/b/q", "producer/c"):
        table.add(origin, 0, 1)
    assert table.latest("producer", 5) == ["c", "a"]
    assert table.latest("producer", 1) == ["c"]

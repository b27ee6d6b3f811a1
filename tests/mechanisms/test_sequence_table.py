from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.sequence_table import (
    MOST_INTERVALS,
    Instances,
    SequenceTable,
    UncertainNumbers,
)

# -- SequenceTable ---------------------------------------------------------------------------------


def listed(intervals: list[tuple[int, int]]) -> list[int]:
    return [number for low, high in intervals for number in range(low, high)]


def test_an_unknown_origin_has_nothing_stored() -> None:
    table = SequenceTable(10)

    assert table.new_numbers("a", 5, 3) == [(5, 8)]
    assert table.next_sequence("a") == 0
    assert "a" not in table
    assert len(table) == 0


def test_stored_numbers_are_repeats() -> None:
    table = SequenceTable(10)
    table.add("a", 0, 5)

    assert table.new_numbers("a", 0, 5) == []
    assert table.new_numbers("a", 3, 4) == [(5, 7)]
    assert table.next_sequence("a") == 5
    assert "a" in table


def test_a_refused_number_stays_a_hole() -> None:
    table = SequenceTable(10)
    table.add("a", 0, 10)
    table.remove("a", 3, 2)
    table.remove("stranger", 0, 1)

    assert table.new_numbers("a", 0, 10) == [(3, 5)]
    assert table.next_sequence("a") == 10


def test_an_origin_whose_only_rows_were_refused_starts_at_zero() -> None:
    table = SequenceTable(10)
    table.add("a", 0, 3)
    table.remove("a", 0, 3)

    assert table.next_sequence("a") == 0


def test_rows_below_the_floor_are_repeats() -> None:
    table = SequenceTable(10)
    table.add("alias", 7, 2)
    table.raise_floor("alias", 5)
    table.raise_floor("other", 0)

    assert table.new_numbers("alias", 0, 10) == [(5, 7), (9, 10)]
    assert "other" not in table


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40), st.integers(1, 10)), max_size=40)
)
def test_each_number_is_accepted_once(batches: list[tuple[str, int, int]]) -> None:
    table = SequenceTable(10, bounded_sets=True)
    accepted: list[tuple[str, int]] = []
    for origin, first, count in batches:
        for low, high in table.new_numbers(origin, first, count):
            table.add(origin, low, high - low)
            accepted += [(origin, number) for number in range(low, high)]

    assert len(accepted) == len(set(accepted))
    assert set(accepted) == {
        (origin, number)
        for origin, first, count in batches
        for number in range(first, first + count)
    }


operations = st.lists(
    st.tuples(
        st.sampled_from(["add", "remove", "floor"]),
        st.sampled_from("ab"),
        st.integers(0, 60),
        st.integers(1, 10),
    ),
    max_size=30,
)


@given(operations=operations, first=st.integers(0, 70), count=st.integers(1, 8))
def test_the_table_agrees_with_sets_of_numbers(
    operations: list[tuple[str, str, int, int]], first: int, count: int
) -> None:
    table = SequenceTable(10)
    stored: dict[str, set[int]] = {"a": set(), "b": set()}
    for what, origin, low, length in operations:
        numbers = set(range(low, low + length))
        if what == "add":
            table.add(origin, low, length)
            stored[origin] |= numbers
        elif what == "remove":
            table.remove(origin, low, length)
            stored[origin] -= numbers
        else:
            table.raise_floor(origin, low)
            stored[origin] |= set(range(low))

    for origin, numbers in stored.items():
        fresh = listed(table.new_numbers(origin, first, count))
        assert fresh == sorted(set(range(first, first + count)) - numbers)
        assert table.next_sequence(origin) == max(numbers, default=-1) + 1
    copy = SequenceTable(10)
    copy.load(table.dump())
    assert copy.dump() == table.dump()


def test_the_origin_that_was_silent_for_longest_is_forgotten_first() -> None:
    table = SequenceTable(2)
    for origin in ("a", "b", "a", "c"):
        table.add(origin, 0, 1)

    assert [origin for origin, _ in table.dump()] == ["a", "c"]
    assert len(table) == 2


def test_the_latest_origins_of_a_kind_come_first() -> None:
    table = SequenceTable(10)
    for origin in ("producer/a", "alias/x", "producer/b", "producer/c", "producer/a"):
        table.add(origin, 0, 1)

    assert table.latest("producer", 2) == ["a", "c"]
    assert table.latest("alias", 2) == ["x"]


def test_a_dump_can_leave_out_numbers_that_the_store_may_still_refuse() -> None:
    table = SequenceTable(10)
    table.add("o", 0, 10)

    assert table.dump([("o", 4, 3), ("stranger", 0, 1)]) == [("o", [(0, 4), (7, 10)])]
    assert table.dump() == [("o", [(0, 10)])]


def test_saving_and_restoring_keeps_everything_and_the_order_of_forgetting() -> None:
    table = SequenceTable(2)
    table.add("b", 0, 4)
    table.add("a", 0, 9)
    table.remove("a", 2, 1)
    table.instances.note("a", 5)
    restored = SequenceTable(2)

    assert restored.restore(table.save(complete_to=77)) == 77
    assert restored.new_numbers("a", 0, 9) == [(2, 3)]
    assert restored.instances.of("a") == 5
    restored.add("c", 0, 1)
    assert restored.next_sequence("b") == 0


def test_a_saved_table_can_leave_out_numbers_too() -> None:
    table = SequenceTable(2)
    table.add("a", 0, 9)
    restored = SequenceTable(2)
    restored.restore(table.save(77, [("a", 4, 2), ("a", 8, 1), ("stranger", 0, 1)]))

    assert restored.new_numbers("a", 0, 9) == [(4, 6), (8, 9)]
    assert table.new_numbers("a", 0, 9) == []


def test_the_holes_of_a_bounded_set_are_bounded_and_forgotten_numbers_are_not_called_new() -> None:
    table = SequenceTable(10, bounded_sets=True)
    for number in range(3 * MOST_INTERVALS):
        table.add("a", 2 * number, 1)

    lowest = 2 * (3 * MOST_INTERVALS - MOST_INTERVALS)
    assert table.forgotten("a", 0)
    assert table.forgotten("a", lowest - 1)
    assert not table.forgotten("a", lowest)
    assert not table.forgotten("b", 0)
    assert table.next_sequence("a") == 6 * MOST_INTERVALS - 1
    assert len(table.save(0)) < 20 * MOST_INTERVALS


def test_other_sets_are_bounded_on_request() -> None:
    table = SequenceTable(10)
    for number in range(2 * MOST_INTERVALS):
        table.add("a", 2 * number, 1)
    assert len(table.dump()[0][1]) == 2 * MOST_INTERVALS

    table.bound_set("a")
    table.bound_set("stranger")

    assert len(table.dump()[0][1]) == MOST_INTERVALS
    assert table.forgotten("a", 0)


@pytest.mark.parametrize("number", [-5, 2**62, 2**63, 2**64 - 1])
def test_numbers_that_no_origin_may_use_are_ignored(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An earlier version stored them, and could not save the table any more."""
    table = SequenceTable(10)
    table.add("a", 0, 3)
    table.add("a", number, 1)

    assert "'a'" in caplog.text
    table.restore(table.save(7))
    assert table.next_sequence("a") == 3


def test_a_saved_table_with_such_numbers_can_be_read(caplog: pytest.LogCaptureFixture) -> None:
    saved = msgspec.msgpack.encode([9, [["a", [[-5, 3], [2**63, 2**64 - 1]]], ["b", [[0, 4]]]]])
    table = SequenceTable(10)

    assert table.restore(saved) == 9
    assert table.next_sequence("a") == 3
    assert table.next_sequence("b") == 4
    assert "'a'" in caplog.text
    assert "'b'" not in caplog.text
    table.save(9)


# -- Instances -------------------------------------------------------------------------------------


def test_a_publisher_that_is_created_later_takes_the_name_over() -> None:
    instances = Instances(10, {})
    assert instances.take("orders", 1, resumes=False)
    assert instances.take("orders", 2, resumes=False)

    assert not instances.take("orders", 1, resumes=True)
    assert not instances.has("orders", 1)
    assert instances.has("orders", 2)
    assert instances.of("orders") == 2


def test_a_publisher_that_comes_back_keeps_its_name() -> None:
    instances = Instances(10, {})
    instances.take("orders", 1, resumes=False)

    assert instances.take("orders", 1, resumes=True)


def test_a_name_that_no_instance_is_known_to_hold_is_free() -> None:
    instances = Instances(10, {})

    assert instances.has("orders", 5)
    assert instances.of("orders") == 0
    assert instances.take("orders", 5, resumes=True)


def test_names_with_stored_numbers_are_not_forgotten() -> None:
    """Otherwise a publisher that was replaced could come back to numbers that are not its own."""
    stored = {"kept": None}
    instances = Instances(2, stored)
    instances.note("kept", 1)
    for number in range(100):
        instances.note(f"passing {number}", number + 10)

    assert len(instances.dump()) == 3
    assert instances.of("kept") == 1
    assert instances.of("passing 99") == 109


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 5), st.booleans()), max_size=40))
def test_one_instance_holds_a_name_at_a_time(openings: list[tuple[str, int, bool]]) -> None:
    instances = Instances(10, {})
    holders: dict[str, int] = {}
    for name, instance, resumes in openings:
        taken = instances.take(name, instance, resumes=resumes)
        assert taken == (not resumes or holders.get(name, instance) == instance)
        if taken:
            holders[name] = instance
        assert [each for each in range(1, 6) if instances.has(name, each)] == [holders[name]]


def test_instances_can_be_saved_and_loaded() -> None:
    instances = Instances(10, {})
    instances.note("orders", 3)
    again = Instances(10, {})
    again.load(instances.dump())

    assert again.of("orders") == 3


# -- UncertainNumbers ------------------------------------------------------------------------------


def test_rows_whose_sync_failed_are_uncertain_with_the_reason() -> None:
    uncertain = UncertainNumbers()
    uncertain.add("a", 5, 3, "the disk is gone")

    assert uncertain.reason == "the disk is gone"
    assert uncertain.touches("a", 0, 6)
    assert uncertain.touches("a", 7, 10)
    assert not uncertain.touches("a", 0, 5)
    assert not uncertain.touches("a", 8, 2)
    assert not uncertain.touches("b", 5, 3)

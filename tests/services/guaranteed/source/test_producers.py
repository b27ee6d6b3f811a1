"""The table of producers: repeats are known, holes stay holes, the idlest is forgotten."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.guaranteed.source.producers import MOST_INTERVALS, ProducerTable


def test_an_unknown_producer_has_nothing_stored() -> None:
    table = ProducerTable(10)

    assert table.new_numbers("a", 5, 3) == [(5, 8)]
    assert table.next_sequence("a") == 0
    assert len(table) == 0


def test_stored_numbers_are_repeats() -> None:
    table = ProducerTable(10)
    table.add("a", 0, 5)

    assert table.new_numbers("a", 0, 5) == []
    assert table.new_numbers("a", 3, 4) == [(5, 7)]
    assert table.next_sequence("a") == 5


def test_a_refused_number_stays_a_hole() -> None:
    table = ProducerTable(10)
    table.add("a", 0, 10)
    table.remove("a", 3, 2)
    table.remove("stranger", 0, 1)

    assert table.new_numbers("a", 0, 10) == [(3, 5)]
    assert table.next_sequence("a") == 10


def test_a_producer_whose_only_rows_were_refused_starts_at_zero() -> None:
    table = ProducerTable(10)
    table.add("a", 0, 3)
    table.remove("a", 0, 3)

    assert table.next_sequence("a") == 0


def test_the_producer_that_was_silent_for_longest_is_forgotten_first() -> None:
    table = ProducerTable(2)
    table.add("a", 0, 1)
    table.add("b", 0, 1)
    table.add("a", 1, 1)
    table.add("c", 0, 1)

    assert len(table) == 2
    assert table.next_sequence("b") == 0
    assert table.next_sequence("a") == 2


def test_saving_and_loading_keeps_everything_and_the_order_of_forgetting() -> None:
    table = ProducerTable(2)
    table.add("b", 0, 4)
    table.add("a", 0, 9)
    table.remove("a", 2, 1)
    restored = ProducerTable(2)

    assert restored.load(table.save(complete_to=77)) == 77
    assert restored.new_numbers("a", 0, 9) == [(2, 3)]
    restored.add("c", 0, 1)
    assert restored.next_sequence("b") == 0


def test_numbers_that_may_yet_be_refused_are_left_out_of_what_is_saved() -> None:
    table = ProducerTable(2)
    table.add("a", 0, 9)
    restored = ProducerTable(2)
    restored.load(table.save(77, [("a", 4, 2), ("a", 8, 1), ("stranger", 0, 1)]))

    assert restored.new_numbers("a", 0, 9) == [(4, 6), (8, 9)]
    assert table.new_numbers("a", 0, 9) == []


operations = st.lists(
    st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(0, 20), st.integers(1, 6)),
    max_size=25,
)


@given(operations=operations, first=st.integers(0, 25), count=st.integers(1, 8))
def test_the_table_agrees_with_sets_of_numbers(
    operations: list[tuple[bool, str, int, int]], first: int, count: int
) -> None:
    table = ProducerTable(10)
    stored: dict[str, set[int]] = {"a": set(), "b": set()}
    for adding, producer, low, length in operations:
        numbers = set(range(low, low + length))
        if adding:
            table.add(producer, low, length)
            stored[producer] |= numbers
        else:
            table.remove(producer, low, length)
            stored[producer] -= numbers

    for producer, numbers in stored.items():
        fresh = table.new_numbers(producer, first, count)
        listed = [number for low, high in fresh for number in range(low, high)]
        assert listed == sorted(set(range(first, first + count)) - numbers)
        assert table.next_sequence(producer) == max(numbers, default=-1) + 1


def test_the_number_of_holes_is_bounded_and_what_is_forgotten_is_not_called_new() -> None:
    table = ProducerTable(10)
    for number in range(3 * MOST_INTERVALS):
        table.add("a", 2 * number, 1)

    lowest = 2 * (3 * MOST_INTERVALS - MOST_INTERVALS)
    assert table.forgotten("a", 0)
    assert table.forgotten("a", lowest - 1)
    assert not table.forgotten("a", lowest)
    assert not table.forgotten("b", 0)
    assert table.next_sequence("a") == 6 * MOST_INTERVALS - 1
    assert len(table.save(0)) < 20 * MOST_INTERVALS


@pytest.mark.parametrize("number", [-5, 2**62, 2**63, 2**64 - 1])
def test_numbers_that_no_producer_may_use_are_not_taken_from_the_disk(
    number: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An earlier version stored them, and could not save the table any more."""
    table = ProducerTable(10)
    table.add("a", 0, 3)
    table.add("a", number, 1)

    assert "'a'" in caplog.text
    table.load(table.save(7))
    assert table.next_sequence("a") == 3


def test_a_saved_table_with_such_numbers_can_be_read(caplog: pytest.LogCaptureFixture) -> None:
    saved = msgspec.msgpack.encode([9, [["a", [[-5, 3], [2**63, 2**64 - 1]]], ["b", [[0, 4]]]]])
    table = ProducerTable(10)

    assert table.load(saved) == 9
    assert table.next_sequence("a") == 3
    assert table.next_sequence("b") == 4
    assert "'a'" in caplog.text
    assert "'b'" not in caplog.text
    table.save(9)

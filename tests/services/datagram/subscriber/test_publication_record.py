"""What records reveal (Section III-C)."""

from __future__ import annotations

import pytest

from penstock.content.bloom.encoding import encode_filter, encode_message
from penstock.content.selectors.parser import parse
from penstock.services.datagram.subscriber.publication_record import (
    NOTHING_LOST,
    read_record,
    write_record,
)

WANTED = encode_message({"kind": "wanted"})
OTHER = encode_message({"kind": "other"})
FILTERS = (encode_filter(parse("kind = 'wanted'")),)


def test_without_a_gap_nothing_is_lost() -> None:
    assert read_record(write_record((WANTED, WANTED)), 0, FILTERS, 0.5) == NOTHING_LOST


def test_only_the_messages_of_the_gap_count() -> None:
    assert read_record(write_record((OTHER, WANTED)), 1, FILTERS, 0.5).lost_messages == 0
    assert read_record(write_record((OTHER, WANTED)), 2, FILTERS, 0.5).lost_messages == 1


def test_a_gap_that_is_covered_counts_in_full() -> None:
    assert read_record(write_record((OTHER, OTHER)), 2, FILTERS, 0.5).weight == 1.0


def test_a_gap_that_is_not_covered_counts_as_its_probability() -> None:
    reading = read_record(write_record((OTHER, OTHER)), 5, FILTERS, 0.1)
    assert reading.lost_messages == 0
    assert reading.weight == pytest.approx(0.9**3)


def test_a_loss_that_is_seen_needs_no_probability() -> None:
    reading = read_record(write_record((WANTED, OTHER)), 50, FILTERS, 0.1)
    assert (reading.lost_messages, reading.weight) == (1, 1.0)


@pytest.mark.parametrize("part", [-1.0, 0.0, 1.0, 7.0, float("inf")])
def test_any_matching_part_gives_a_probability(part: float) -> None:
    assert 0.0 <= read_record(b"", 3, FILTERS, part).weight <= 1.0


def test_a_garbled_record_is_read_as_far_as_it_goes() -> None:
    assert read_record(b"\xff" * 40, 2, FILTERS, 0.0).lost_messages == 1


RANGE = (encode_filter(parse("turn < 4")),)
TURNS = (encode_message({"turn": 7}), encode_message({"turn": 3}))


def test_a_record_tells_nothing_about_a_range() -> None:
    reading = read_record(write_record(TURNS), 2, RANGE, 0.5)
    assert reading.lost_messages == 0
    assert reading.weight == pytest.approx(0.5**2)


def test_a_loss_of_an_exact_filter_shows_beside_a_range() -> None:
    reading = read_record(write_record((WANTED,)), 1, (*RANGE, *FILTERS), 0.5)
    assert (reading.lost_messages, reading.weight) == (1, 1.0)

"""The names of prices: 32 bits that the link's own broker can read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.multicast.groups.route import link_number
from penstock.services.multicast.messages import MOST_NAMED, PriceRecord
from penstock.services.multicast.prices.names import (
    SEQUENCE_SPAN,
    named_sequence,
    names_of,
    price_name,
    tag_of,
    without,
)

LINK, OTHER = link_number("a", "b"), link_number("b", "c")


@given(st.integers(0, 2**61), st.integers(0, SEQUENCE_SPAN - 1))
def test_the_sequence_is_told_from_its_last_bits(sequence: int, updates_since: int) -> None:
    name = price_name(PriceRecord(LINK, sequence, 1.0))
    assert 0 <= name < 2**32
    assert named_sequence([name], tag_of(LINK), sequence + updates_since) == sequence


def test_a_link_finds_only_its_own_price() -> None:
    names = names_of([PriceRecord(OTHER, 5, 1.0), PriceRecord(LINK, 7, 0.5)])
    assert named_sequence(names, tag_of(LINK), 9) == 7
    assert named_sequence(names[:1], tag_of(LINK), 9) is None


def test_a_broker_removes_the_names_of_its_own_links() -> None:
    names = names_of([PriceRecord(OTHER, 5, 1.0), PriceRecord(LINK, 7, 0.5)])
    assert without(names, [tag_of(LINK)]) == names[:1]


def test_only_the_dearest_links_are_named() -> None:
    records = [PriceRecord(number, 1, float(number)) for number in range(MOST_NAMED + 4)]
    names = names_of(records)
    assert len(names) == MOST_NAMED
    assert set(names) == {price_name(each) for each in records[4:]}

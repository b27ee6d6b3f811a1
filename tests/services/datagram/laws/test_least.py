"""The least of recent values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.services.datagram.laws.least import Least


@given(st.lists(st.integers(-1000, 1000), min_size=1))
def test_the_least_is_of_this_block_and_the_one_before(values: list[int]) -> None:
    least = Least(10)
    for at, value in enumerate(values):
        found = least.of(value, at)
        assert min(values[max(0, at - 21) : at + 1]) <= found
        assert found <= min(values[max(0, at - 9) : at + 1])

"""Max-min shares."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.services.datagram.laws.max_min import max_min_shares

AMOUNTS = st.floats(0.0, 1e6)
PAIRS = st.lists(st.tuples(AMOUNTS, st.floats(0.1, 10.0)), min_size=1, max_size=8)


def test_the_papers_example() -> None:
    assert max_min_shares(446.4, [400, 150, 150], [1, 1, 1]) == pytest.approx([148.8] * 3)


def test_who_wants_less_leaves_the_rest_to_others() -> None:
    assert max_min_shares(100, [10, 80, 80], [1, 1, 1]) == [10, 45, 45]


def test_priorities_share_what_is_scarce() -> None:
    assert max_min_shares(90, [100, 100], [2, 1]) == [60, 30]


@given(AMOUNTS, PAIRS)
@settings(deadline=None)
def test_nobody_gets_more_than_it_wants_and_nothing_is_wasted(
    capacity: float, pairs: list[tuple[float, float]]
) -> None:
    demands, weights = [each[0] for each in pairs], [each[1] for each in pairs]
    shares = max_min_shares(capacity, demands, weights)
    assert all(0 <= share <= demand for share, demand in zip(shares, demands, strict=True))
    assert sum(shares) == pytest.approx(min(capacity, sum(demands)), rel=1e-6, abs=1e-6)


@given(AMOUNTS, PAIRS)
@settings(deadline=None)
def test_who_is_cut_has_no_less_for_its_weight_than_anybody_else(
    capacity: float, pairs: list[tuple[float, float]]
) -> None:
    demands, weights = [each[0] for each in pairs], [each[1] for each in pairs]
    shares = max_min_shares(capacity, demands, weights)
    most = max(share / weight for share, weight in zip(shares, weights, strict=True))
    for share, demand, weight in zip(shares, demands, weights, strict=True):
        if share < demand * (1 - 1e-9) - 1e-9:
            assert share / weight >= most * (1 - 1e-6) - 1e-6

"""The size sketch, and the marks that follow from the size."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.gossip.membership.group_size import (
    SIZE_PERIOD_ROUNDS,
    VARIATES,
    GroupSizeEstimate,
    age_marks,
    drawn_sketch,
    estimated_size,
    merged_sketch,
)

sketches = st.binary(min_size=VARIATES, max_size=VARIATES)


@given(sketches, sketches, sketches)
def test_merging_is_a_semilattice(one: bytes, two: bytes, three: bytes) -> None:
    assert merged_sketch(one, two) == merged_sketch(two, one)
    assert merged_sketch(one, one) == one
    left = merged_sketch(merged_sketch(one, two), three)
    assert left == merged_sketch(one, merged_sketch(two, three))


@pytest.mark.parametrize("peers", [10, 60, 1000, 10_000])
def test_the_size_is_told_within_a_third(peers: int) -> None:
    random = Random(peers)
    merged = drawn_sketch(random)
    for _ in range(peers - 1):
        merged = merged_sketch(merged, drawn_sketch(random))
    size = float(estimated_size(np.frombuffer(merged, np.uint8)))
    assert peers / 1.4 < size < peers * 1.4


def test_a_period_ends_with_a_new_estimate_and_a_later_one_is_followed() -> None:
    estimate = GroupSizeEstimate(Random(1))
    before = estimate.period
    for _ in range(SIZE_PERIOD_ROUNDS):
        estimate.next_round()
    assert estimate.period == before + 1
    assert estimate.size < 4, "nobody else was heard of"
    estimate.heard(estimate.period + 5, drawn_sketch(Random(2)))
    assert estimate.period == before + 6


def test_what_is_no_sketch_is_not_heard() -> None:
    estimate = GroupSizeEstimate(Random(1))
    sketch = estimate.sketch
    estimate.heard(estimate.period, b"\xff" * (VARIATES - 1))
    assert estimate.sketch == sketch


def test_the_marks_are_the_papers_at_60_and_grow_with_the_logarithm() -> None:
    assert age_marks(5, 7, 60.0) == (5, 7)
    low, high = age_marks(5, 7, 1000.0)
    assert low == pytest.approx(7.4, abs=0.2)
    assert high - low == pytest.approx(2)
    assert float(age_marks(5, 7, 2.0)[0]) >= 1

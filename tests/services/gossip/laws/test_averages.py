"""Samples that come together count as much as one after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.services.gossip.laws.averages import initial_average_age, moving_average


@given(st.floats(0, 20), st.floats(0, 20), st.integers(1, 9))
def test_n_equal_samples_at_once_are_n_samples(average: float, sample: float, count: int) -> None:
    one_by_one = average
    for _ in range(count):
        one_by_one = float(moving_average(one_by_one, sample, 0.8))
    assert moving_average(average, sample, 0.8, count) == pytest.approx(one_by_one)


def test_arrays_are_averaged_element_by_element() -> None:
    result = moving_average(np.array([0.0, 10.0]), np.array([10.0, 0.0]), 0.8)
    assert np.allclose(result, [2.0, 8.0])


def test_the_average_age_begins_between_the_marks() -> None:
    assert initial_average_age(5, 7) == 6

from __future__ import annotations

from itertools import pairwise
from math import inf

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.lab.scenario.curve import (
    Curve,
    CurvePoint,
    NotACurve,
    is_zero,
    points_of,
    second_of_area,
    step_at,
    value_at,
)

RAMP = msgspec.convert([[1, 10], [3, 30], [4, 0]], Curve)


@pytest.mark.parametrize(
    ("at_s", "value", "step"),
    [
        (0, 10, 10),
        (1, 10, 10),
        (1.5, 15, 10),
        (2.75, 27.5, 10),
        (3, 30, 30),
        (3.5, 15, 30),
        (4, 0, 0),
        (9, 0, 0),
    ],
)
def test_a_curve_is_linear_between_its_points_and_steps_last(
    at_s: float, value: float, step: float
) -> None:
    assert value_at(RAMP, at_s) == value
    assert step_at(RAMP, at_s) == step


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_a_number_is_the_same_at_all_times(number: float, at_s: float) -> None:
    assert value_at(number, at_s) == step_at(number, at_s) == number


@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(0, 100)), min_size=1, unique_by=lambda p: p[0]
    ),
    st.floats(0, 60),
)
def test_a_curve_stays_between_its_smallest_and_largest_point(
    points: list[tuple[int, int]], at_s: float
) -> None:
    curve = tuple(CurvePoint(float(at), float(value)) for at, value in sorted(points))
    values = [point.value for point in curve]
    assert min(values) - 1e-9 <= value_at(curve, at_s) <= max(values) + 1e-9
    assert step_at(curve, at_s) in values


def test_points_are_in_the_order_of_time() -> None:
    assert points_of(5) == (CurvePoint(0.0, 5.0),)
    assert points_of(RAMP) == RAMP
    with pytest.raises(NotACurve, match="at least one point"):
        points_of(())
    for points in ([[2, 1], [1, 1]], [[1, 1], [1, 2]]):
        with pytest.raises(NotACurve, match="in the order of time"):
            points_of(msgspec.convert(points, Curve))


@pytest.mark.parametrize(
    ("curve", "zero"),
    [(0, True), (0.0, True), (1, False), ([[0, 0], [5, 0]], True), ([[0, 0], [5, 1]], False)],
)
def test_a_curve_may_always_be_zero(curve: object, zero: bool) -> None:
    assert is_zero(msgspec.convert(curve, Curve)) is zero


@pytest.mark.parametrize("raw", [-1, [[0, -1]], [[-1, 0]], [[0]], [[0, 1, 2]], "fast", [5]])
def test_what_is_no_curve_is_refused(raw: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw, Curve)


@given(
    st.lists(st.just(0.0) | st.floats(0.001, 50), min_size=1, max_size=4),
    st.floats(0, 8),
    st.floats(0.01, 60),
)
def test_the_area_up_to_the_second_is_the_wanted_one(
    rates: list[float], from_s: float, area: float
) -> None:
    curve = tuple(CurvePoint(float(2 * place), rate) for place, rate in enumerate(rates))
    at_s = second_of_area(curve, from_s, area)
    end_s = max(from_s, curve[-1].at_s) if at_s == inf else at_s
    edges = sorted({from_s, end_s, *(each.at_s for each in curve if from_s < each.at_s < end_s)})
    covered = sum(
        (value_at(curve, low) + value_at(curve, high)) / 2 * (high - low)
        for low, high in pairwise(edges)
    )
    if at_s == inf:
        assert covered < area
    else:
        assert covered == pytest.approx(area, rel=1e-6, abs=1e-6)


def test_an_area_that_would_take_decades_is_never_covered() -> None:
    assert second_of_area(0, 0, 1) == inf
    assert second_of_area(1e-300, 0, 1) == inf
    assert second_of_area(2, 5, 1) == 5.5

"""Values that change over the seconds of a scenario: a number, or points ``[second, value]``.

A *curve* is linear between its points, *steps* keep each value until the next point; before the
first and after the last point both stay.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from math import inf, sqrt
from typing import Annotated, Final, TypeAlias

import msgspec


class CurvePoint(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The value at one second of the scenario."""

    at_s: Annotated[float, msgspec.Meta(ge=0)]
    value: Annotated[float, msgspec.Meta(ge=0)]


Curve: TypeAlias = Annotated[float, msgspec.Meta(ge=0)] | tuple[CurvePoint, ...]


LONGEST_S: Final = 1e9
"""What would take longer than thirty years never comes."""


class NotACurve(ValueError):
    """The points of a curve are none, or not in the order of time."""


def points_of(curve: Curve) -> tuple[CurvePoint, ...]:
    """The points of a curve; a number is one point.  Raises ``NotACurve``."""
    if not isinstance(curve, tuple):
        return (CurvePoint(0.0, float(curve)),)
    if not curve:
        raise NotACurve("a curve needs at least one point, such as [[0, 100]]")
    if any(after.at_s <= before.at_s for before, after in pairwise(curve)):
        raise NotACurve("the points of a curve must be in the order of time")
    return curve


def value_at(curve: Curve, at_s: float) -> float:
    """The value at a second, linear between the points."""
    points = points_of(curve)
    place = bisect_right(points, at_s, key=lambda point: point.at_s)
    if place == 0:
        return points[0].value
    here = points[place - 1]
    if place == len(points):
        return here.value
    there = points[place]
    part = (at_s - here.at_s) / (there.at_s - here.at_s)
    return here.value + part * (there.value - here.value)


def second_of_area(curve: Curve, from_s: float, area: float) -> float:
    """The second at which the area under a curve since another second is this.

    Of a rate it is the second at which so many are due.  Infinite if there is none.
    """
    points = points_of(curve)
    for point in points:
        if point.at_s <= from_s:
            continue
        value, length_s = value_at(curve, from_s), point.at_s - from_s
        part = (value + point.value) / 2 * length_s
        if part >= area:
            slope = (point.value - value) / length_s
            # The root of value * x + slope / 2 * x**2 = area in the form that does not cancel.
            return from_s + 2 * area / (value + sqrt(max(0.0, value * value + 2 * slope * area)))
        area -= part
        from_s = point.at_s
    last = points[-1].value
    return from_s + area / last if last > area / LONGEST_S else inf


def step_at(curve: Curve, at_s: float) -> float:
    """The value at a second, where each point's value lasts until the next."""
    points = points_of(curve)
    place = bisect_right(points, at_s, key=lambda point: point.at_s)
    return points[max(0, place - 1)].value


def is_zero(curve: Curve) -> bool:
    """Whether the value is always 0."""
    return all(point.value == 0 for point in points_of(curve))

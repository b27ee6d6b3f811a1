"""Values that change over the seconds of a scenario: a number, or points ``[second, value]``.

A *curve* is linear between its points, *steps* keep each value until the next point; before the
first and after the last point both stay.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Annotated, TypeAlias

import msgspec


class CurvePoint(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The value at one second of the scenario."""

    at_s: Annotated[float, msgspec.Meta(ge=0)]
    value: Annotated[float, msgspec.Meta(ge=0)]


Curve: TypeAlias = Annotated[float, msgspec.Meta(ge=0)] | tuple[CurvePoint, ...]


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


def step_at(curve: Curve, at_s: float) -> float:
    """The value at a second, where each point's value lasts until the next."""
    points = points_of(curve)
    place = bisect_right(points, at_s, key=lambda point: point.at_s)
    return points[max(0, place - 1)].value


def is_zero(curve: Curve) -> bool:
    """Whether the value is always 0."""
    return all(point.value == 0 for point in points_of(curve))

"""Curves over the seconds of a run, from its telemetry and its histories.

1. Time is cut into steps of equal length; a point of a curve stands at the beginning of its step,
   and a step without any record or event has no point (a rate is 0 there).
2. ``rate`` is the increase a second: of a count, its events in a step; of a counter of telemetry,
   the increase between its records.  The rates of all chosen clients, nodes and subjects add up.
3. ``max`` and ``mean`` are those of all values in a step.  ``sum`` adds the values of the events in
   a step, or, of telemetry, the last values of all nodes and subjects.
4. ``value`` gives every record or event by itself, at its own second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from penstock.core.clock import SECOND
from penstock.lab.oracle.history import Events
from penstock.lab.result import RunResult
from penstock.lab.scenario.metrics import SHORT_NAMES, history_metric
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import client_events

Curve: TypeAlias = Sequence[tuple[float, float]]
"""Values at seconds of the scenario, in the order of time."""

How: TypeAlias = Literal["rate", "max", "mean", "sum", "value"]

ROUNDING: Final = 1e-9
"""Keeps a record that is exactly at the beginning of a step in it."""

Floats: TypeAlias = npt.NDArray[np.float64]


def curve(result: RunResult, what: Measurement, how: How, step_s: float = 1.0) -> Curve:
    """A metric over the seconds of a run; empty if nothing was recorded.

    Of the measurement the metric, service, subject, node, and window count.
    """
    found = history_metric(result.scenario, what)
    if found is None:
        series = _recorded(result, what)
        if how == "rate":
            return _counter_rate(series, step_s)
        if how == "sum":
            return _summed([_stepped(each, lambda values: values[-1], step_s) for each in series])
        return _reduced(series, how, step_s)
    service, metric, _ = found
    series = _seen(result, what, client_events(result, service, metric, what.subject))
    if how in ("rate", "sum"):
        return _counted(series, what, result, step_s, per_second=how == "rate")
    return _reduced(series, how, step_s)


def mean_between(curve: Curve, low_s: float, high_s: float) -> float:
    """The mean of a curve's points in an interval; 0 if there are none."""
    values = [value for at_s, value in curve if low_s <= at_s < high_s]
    return sum(values) / len(values) if values else 0.0


# -- from where ------------------------------------------------------------------------------------

Series: TypeAlias = tuple[Floats, Floats]
"""The seconds and the values of one client, or of one subject at one node."""


def _recorded(result: RunResult, what: Measurement) -> list[Series]:
    metric, _ = SHORT_NAMES.get(what.metric, (what.metric, None))
    series = result.telemetry.series(metric, subject=what.subject, node=what.node)
    found = []
    for points in series.values():
        at_s = np.array([result.second(at) for at, _ in points])
        found.append(_windowed(at_s, np.array([value for _, value in points]), what))
    return found


def _seen(result: RunResult, what: Measurement, events: Mapping[str, Events]) -> list[Series]:
    return [
        _windowed((each.at - result.started_at) / SECOND, each.values, what)
        for each in events.values()
    ]


def _windowed(at_s: Floats, values: Floats, what: Measurement) -> Series:
    if what.from_s == 0 and what.to_s is None:
        return at_s, values
    within = at_s >= what.from_s
    if what.to_s is not None:
        within &= at_s < what.to_s
    return at_s[within], values[within]


# -- to what ---------------------------------------------------------------------------------------


def _reduced(series: list[Series], how: How, step_s: float) -> Curve:
    """All values together: as they are, or the largest or the mean of each step."""
    if not series:
        return ()
    at_s = np.concatenate([each for each, _ in series])
    values = np.concatenate([each for _, each in series])
    order = np.lexsort((values, at_s))
    together = (at_s[order], values[order])
    if how == "value":
        return tuple(zip(*(each.tolist() for each in together), strict=True))
    return _stepped(together, np.max if how == "max" else np.mean, step_s)


def _steps(at_s: Floats, step_s: float) -> npt.NDArray[np.int64]:
    return np.floor(at_s / step_s + ROUNDING).astype(np.int64)


def _stepped(series: Series, reduce: Callable[[Floats], float], step_s: float) -> Curve:
    """One value for each step that has any."""
    at_s, values = series
    numbers, first = np.unique(_steps(at_s, step_s), return_index=True)
    parts = np.split(values, first[1:]) if len(values) else []
    return tuple(
        (float(number * step_s), float(reduce(part)))
        for number, part in zip(numbers, parts, strict=True)
    )


def _summed(curves: Sequence[Curve]) -> Curve:
    total: dict[float, float] = {}
    for each in curves:
        for at_s, value in each:
            total[at_s] = total.get(at_s, 0.0) + value
    return tuple(sorted(total.items()))


def _counter_rate(series: list[Series], step_s: float) -> Curve:
    """The rates of all counters together; one that restarted counts from zero."""
    curves = []
    for at_s, values in series:
        increase: dict[int, float] = {}
        took_s: dict[int, float] = {}
        points = zip(_steps(at_s, step_s).tolist(), at_s.tolist(), values.tolist(), strict=True)
        for (_, before_s, before), (step, now_s, now) in pairwise(points):
            increase[step] = increase.get(step, 0.0) + (now - before if now >= before else now)
            took_s[step] = took_s.get(step, 0.0) + now_s - before_s
        curves.append(
            [(step * step_s, increase[step] / took_s[step]) for step in increase if took_s[step]]
        )
    return _summed(curves)


def _counted(
    series: list[Series], what: Measurement, result: RunResult, step_s: float, *, per_second: bool
) -> Curve:
    """The events of every step of the window, also of those without any."""
    first_s = what.from_s
    last_s = result.second(result.ended_at) if what.to_s is None else what.to_s
    first, end = int(first_s / step_s + ROUNDING), int(np.ceil(last_s / step_s - ROUNDING))
    totals = np.zeros(max(0, end - first))
    for at_s, values in series:
        inside = (at_s >= first_s) & (at_s < last_s)
        np.add.at(totals, _steps(at_s[inside], step_s) - first, values[inside])
    if per_second:
        totals /= step_s
    return tuple((float(step * step_s), float(value)) for step, value in enumerate(totals, first))

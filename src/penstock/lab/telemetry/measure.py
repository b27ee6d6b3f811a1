"""Measures numbers of a run.

1. What the applications saw comes from the histories of the services: violations of each rule,
   counts of messages, and samples such as delays.
2. Everything else is a telemetry metric: values over time, by node and subject, which an aggregate
   reduces to one number.  Counters may start again from zero when a broker restarts; an increase is
   therefore the sum of all upward steps.
"""

from __future__ import annotations

from itertools import groupby, pairwise
from operator import itemgetter
from typing import TypeAlias

import numpy as np

from penstock.core.clock import Instant, in_seconds
from penstock.lab.oracle.history import Events, Metric
from penstock.lab.result import RunResult
from penstock.lab.scenario.metrics import (
    MACHINE_FAILURES,
    SHORT_NAMES,
    VIOLATIONS,
    history_metric,
)
from penstock.lab.scenario.model import Aggregate, Measurement
from penstock.lab.telemetry.telemetry import Point

Window: TypeAlias = tuple[Instant, Instant]


class NothingMeasured(ValueError):
    """A run holds no value for a measurement."""


def measure(result: RunResult, what: Measurement) -> float:
    """The number; raises ``NothingMeasured`` if there is none."""
    if what.metric == VIOLATIONS:
        judged = result.judgements[what.service] if what.service else result.judgement
        return float(judged.violations)
    if what.metric == MACHINE_FAILURES:
        return float(len(result.failures))
    window = window_of(result, what)
    found = history_metric(result.scenario, what)
    if found is None:
        return _from_telemetry(result, what, window)
    service, name, metric = found
    if metric.kind == "rule":
        chosen = [what.service] if what.service else list(result.judgements)
        judged_by = [result.judgements[each] for each in chosen]
        return float(sum(each[name] for each in judged_by if name in each.broken | each.noted))
    events = client_events(result, service, name, what.subject)
    aggregate = what.aggregate
    if name != what.metric:
        aggregate = "rate"
    return _from_history(list(events.values()), metric, aggregate, what, result, window)


def window_of(result: RunResult, what: Measurement) -> Window:
    """The instants that a measurement is about."""
    high = result.ended_at if what.to_s is None else result.instant(what.to_s)
    return result.instant(what.from_s), high


def client_events(result: RunResult, service: str, metric: str, subject: str) -> dict[str, Events]:
    """The events of a metric at the clients that a subject denotes; all of them if it is empty."""
    events = result.histories[service].events(metric)
    names = {each.name for each in result.scenario.clients if subject in each.subjects}
    chosen = {name: each for name, each in events.items() if not subject or name in names}
    if not chosen:
        raise NothingMeasured(f"no client of {subject!r} measures {metric!r}")
    return chosen


# -- histories -------------------------------------------------------------------------------------


def _from_history(
    events: list[Events],
    metric: Metric,
    aggregate: Aggregate | None,
    what: Measurement,
    result: RunResult,
    window: Window,
) -> float:
    low, high = window
    # The last events of a run may have come while it was closed.
    inside = [_within(each, low, None if what.to_s is None else high) for each in events]
    if metric.kind == "count":
        totals = [float(each.values.sum()) for each in inside]
        match aggregate:
            case None | "count":
                return sum(totals)
            case "rate":
                return sum(totals) / in_seconds(high - low)
            case "jain":
                return jain(totals)
            case "variation":
                return variation(totals)
            case "until_at_least_s":
                assert what.threshold is not None, "checked with the scenario"
                return _until_counted(inside, low, what.threshold)
    if aggregate == "last_at_s":
        last = max((int(each.at.max()) for each in inside if len(each.at)), default=None)
        if last is None:
            raise NothingMeasured("nothing happened in this interval")
        return result.second(last)
    points = [list(zip(each.at.tolist(), each.values.tolist(), strict=True)) for each in inside]
    return aggregated(aggregate or "max", points, low, what.threshold)


def _within(events: Events, low: Instant, high: Instant | None) -> Events:
    mask = events.at >= low
    if high is not None:
        mask &= events.at < high
    return Events(events.at[mask], events.values[mask])


def _until_counted(events: list[Events], low: Instant, threshold: float) -> float:
    """Seconds until all clients together have counted so many."""
    at = np.concatenate([each.at for each in events])
    order = np.argsort(at, kind="stable")
    totals = np.cumsum(np.concatenate([each.values for each in events])[order])
    reached = np.flatnonzero(totals >= threshold)
    return in_seconds(int(at[order][reached[0]]) - low) if len(reached) else float("inf")


# -- telemetry -------------------------------------------------------------------------------------


def _from_telemetry(result: RunResult, what: Measurement, window: Window) -> float:
    low, high = window
    metric, usual = SHORT_NAMES.get(what.metric, (what.metric, "max"))
    series = result.telemetry.series(metric, subject=what.subject, node=what.node)
    if not series:
        raise NothingMeasured(
            f"metric {metric!r} was not recorded"
            + (f" for subject {what.subject!r}" if what.subject else "")
            + (f" at node {what.node!r}" if what.node else "")
            + f"; metrics of this run are {', '.join(result.telemetry.metrics())}"
        )
    narrowed = [
        [point for point in points if low <= point[0] <= high] for points in series.values()
    ]
    return aggregated(what.aggregate or usual, narrowed, low, what.threshold, result.started_at)


def aggregated(
    aggregate: Aggregate,
    series: list[list[Point]],
    low: Instant = 0,
    threshold: float | None = None,
    began_at: Instant = 0,
) -> float:
    """Reduce several series to one number; raises ``NothingMeasured`` if all are empty.

    The window begins at ``low``, the scenario at ``began_at``.
    """
    values = [value for points in series for _, value in points]
    if not values:
        raise NothingMeasured("no value was recorded in this interval")
    match aggregate:
        case "max":
            return max(values)
        case "min":
            return min(values)
        case "mean":
            return sum(values) / len(values)
        case "p50":
            return float(np.percentile(values, 50))
        case "p99":
            return float(np.percentile(values, 99))
        case "count":
            return float(len(values))
        case "first":
            return sum(points[0][1] for points in series if points)
        case "last":
            return sum(points[-1][1] for points in series if points)
        case "increase":
            return sum(_increase(points) for points in series)
        case "rate":
            return sum(_rate(points) for points in series)
        case "jain":
            return jain([_increase(points) for points in series])
        case "variation":
            return variation([_increase(points) for points in series])
        case "last_at_s":
            return in_seconds(max(points[-1][0] for points in series if points) - began_at)
        case "until_at_most_s" | "until_at_least_s":
            assert threshold is not None, "checked with the scenario"
            return _until(aggregate, series, low, threshold)


def _until(
    aggregate: Aggregate, series: list[list[Point]], low: Instant, threshold: float
) -> float:
    """Seconds until the last values of all series are on the right side of a threshold."""
    sign = 1 if aggregate == "until_at_most_s" else -1
    ordered = sorted(
        (at, place, sign * value) for place, points in enumerate(series) for at, value in points
    )
    wrong = {place for _, place, _ in ordered}
    for at, together in groupby(ordered, key=itemgetter(0)):
        # Of several values of a series at one instant the worst comes last.
        for _, place, value in together:
            (wrong.discard if value <= sign * threshold else wrong.add)(place)
        if not wrong:
            return in_seconds(at - low)
    return float("inf")


def _increase(points: list[Point]) -> float:
    steps = [after - before for (_, before), (_, after) in pairwise(points)]
    # A step down means that the counter restarted from zero: its value is the increase since.
    return sum(step if step >= 0 else points[place + 1][1] for place, step in enumerate(steps))


def _rate(points: list[Point]) -> float:
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return 0.0
    return _increase(points) / in_seconds(points[-1][0] - points[0][0])


def jain(values: list[float]) -> float:
    """Jain's index of fairness."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def variation(values: list[float]) -> float:
    """The coefficient of variation."""
    mean = float(np.mean(values))
    return float(np.std(values)) / mean if mean else 0.0

"""Measures numbers of a run.

1. What the applications saw comes from the history: violations of each rule of
   penstock.sim.judgement, messages acknowledged, refused and delivered, their rate and their delay.
2. Everything else is a telemetry metric: values over time, by node and subject, which an aggregate
   reduces to one number.  Counters may start again from zero when a broker restarts; an increase is
   therefore the sum of all upward steps.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from itertools import pairwise
from typing import Final

import numpy as np

from penstock.core.clock import Instant, in_seconds
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Aggregate, Measurement
from penstock.lab.telemetry.telemetry import Point
from penstock.sim.history import Outcome, PublisherHistory, SubscriberHistory

RULES: Final = (
    "lost",
    "duplicated",
    "out_of_order",
    "unwanted",
    "corrupted",
    "misplaced",
    "let_go",
    "announced_lost",
    "violations",
)
"""Counts over the whole run; they take no subject and no time."""

OUTCOMES: Final = {
    "acknowledged": Outcome.ACKNOWLEDGED,
    "refused": Outcome.REFUSED,
    "uncertain": Outcome.UNCERTAIN,
}

LINK_METRICS: Final[dict[str, tuple[str, Aggregate]]] = {
    "link_bytes": ("sent_bytes", "increase"),
    "link_rate": ("sent_bytes", "rate"),
}
"""Short names for the most frequent link metrics."""


class NothingMeasured(ValueError):
    """A run holds no value for a measurement."""


def measure(result: RunResult, what: Measurement) -> float:
    """The number; raises ``NothingMeasured`` if there is none."""
    metric, subject = what.metric, what.subject
    low = result.instant(what.from_s)
    high = result.ended_at if what.to_s is None else result.instant(what.to_s)
    if metric in RULES:
        return float(getattr(result.judgement, metric))
    if metric == "submitted":
        return float(sum(len(each) for each in _publishers(result, subject)))
    if metric == "unsettled":
        return float(sum(each.count(Outcome.PENDING) for each in _publishers(result, subject)))
    counted = metric.removesuffix("_rate")
    if counted in OUTCOMES or counted == "delivered":
        count = _count(result, counted, subject, low, high)
        return float(count) if counted == metric else count / in_seconds(high - low)
    if metric == "delay_s":
        return aggregated(what.aggregate or "max", [_delays(result, subject, low, high)])
    name, usual = LINK_METRICS.get(metric, (metric, "max"))
    return _from_telemetry(result, what, name, what.aggregate or usual, (low, high))


def _publishers(result: RunResult, subject: str) -> list[PublisherHistory]:
    found = [
        each
        for each in result.history.publishers.values()
        if subject in ("", each.name, each.source.spec.pubend)
    ]
    if not found:
        raise NothingMeasured(f"there is no publisher, or pubend with publishers, {subject!r}")
    return found


def _subscribers(result: RunResult, subject: str) -> list[SubscriberHistory]:
    found = [
        each
        for each in result.history.subscribers.values()
        if subject in ("", each.name, each.broker)
    ]
    if not found:
        raise NothingMeasured(f"there is no subscriber, or broker with subscribers, {subject!r}")
    return found


def _count(result: RunResult, counted: str, subject: str, low: Instant, high: Instant) -> int:
    if counted == "delivered":
        return sum(_within(each.received_at, low, high) for each in _subscribers(result, subject))
    outcome = OUTCOMES[counted]
    count = 0
    for publisher in _publishers(result, subject):
        outcomes = np.frombuffer(bytes(publisher.outcomes), dtype=np.uint8)
        settled = np.array(publisher.settled_at, dtype=np.int64)
        count += int(((outcomes == outcome) & (settled >= low) & (settled < high)).sum())
    return count


def _within(instants: array[int], low: Instant, high: Instant) -> int:
    return bisect_left(instants, high) - bisect_left(instants, low)


def _delays(result: RunResult, subject: str, low: Instant, high: Instant) -> list[Point]:
    """Seconds from a message's tick to its delivery, for messages received in the interval."""
    found: list[Point] = []
    for subscriber in _subscribers(result, subject):
        first = bisect_left(subscriber.received_at, low)
        last = bisect_left(subscriber.received_at, high)
        for place in range(first, last):
            at = subscriber.received_at[place]
            found.append((at, in_seconds(at - subscriber.ticks[place])))
    return found


def _from_telemetry(
    result: RunResult,
    what: Measurement,
    metric: str,
    aggregate: Aggregate,
    window: tuple[Instant, Instant],
) -> float:
    low, high = window
    series = result.telemetry.series(metric, subject=what.subject, node=what.node)
    if not series:
        known = ", ".join((*RULES, *OUTCOMES, "delivered", *result.telemetry.metrics()))
        raise NothingMeasured(
            f"metric {metric!r} was not recorded"
            + (f" and subject {what.subject!r}" if what.subject else "")
            + (f" at node {what.node!r}" if what.node else "")
            + f"; metrics of this run are {known}"
        )
    narrowed = [
        [point for point in points if low <= point[0] <= high] for points in series.values()
    ]
    return aggregated(aggregate, narrowed)


def aggregated(aggregate: Aggregate, series: list[list[Point]]) -> float:
    """Reduce several series to one number; raises ``NothingMeasured`` if all are empty."""
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
        case "first":
            return sum(points[0][1] for points in series if points)
        case "last":
            return sum(points[-1][1] for points in series if points)
        case "increase":
            return sum(_increase(points) for points in series)
        case "rate":
            return sum(_rate(points) for points in series)


def _increase(points: list[Point]) -> float:
    steps = [after - before for (_, before), (_, after) in pairwise(points)]
    # A step down means that the counter restarted from zero: its value is the increase since.
    return sum(step if step >= 0 else points[place + 1][1] for place, step in enumerate(steps))


def _rate(points: list[Point]) -> float:
    if len(points) < 2 or points[-1][0] <= points[0][0]:
        return 0.0
    return _increase(points) / in_seconds(points[-1][0] - points[0][0])

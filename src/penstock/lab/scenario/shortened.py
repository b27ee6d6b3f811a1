"""A scenario in less time: all its times are divided by a factor, and all rates stay.

1. Every second at which something happens is divided: starts and stops, curves, changes of links,
   faults, cross traffic, and the windows of expectations.  These are the keys that end in ``_s``
   but not in ``_per_s``; the few that are no times of the scenario stay (``KEPT``).
2. At the same rate a client has fewer messages, so a client's ``messages`` is divided as well.
3. A bound on seconds of the scenario is divided: of metrics that are ``in_scenario_seconds`` and
   aggregates that end in ``_s``.  The same holds for a lower bound on a number of events; an upper
   one stays, because not every event happens at a rate.
4. What the protocols do in real time stays: latencies, and the parameters of the services.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from penstock.lab.oracle.history import Metric
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Expectation, Measurement, Scenario
from penstock.lab.service import lab_services

Table = TypeVar("Table", bound=msgspec.Struct)

KEPT: Final = ("drain_s", "trace_interval_s", "settle_s")
"""Keys that say how long something takes or how often it is done, at any speed of the scenario."""
OF_VALUES: Final = (None, "max", "min", "mean", "p50", "p99", "first", "last", "increase")
"""The aggregates that have the unit of the metric."""
OF_EVENTS: Final = (None, "count")


def shortened(scenario: Scenario, factor: float) -> Scenario:
    """The scenario in a part of its time: 10 means a tenth."""
    if factor <= 0:
        raise ScenarioError(f"a scenario cannot be shortened by {factor:g}; use a number above 0")
    if factor == 1:
        return scenario
    changed = _divided(scenario, factor)
    expect = tuple(
        _bounded(scenario, before, after, factor)
        for before, after in zip(scenario.expect, changed.expect, strict=True)
    )
    return msgspec.structs.replace(changed, expect=expect)


def _divided(table: Table, factor: float) -> Table:
    """A table and the tables within it, with all times divided."""
    changes = {
        key: _value(key, value, factor)
        for key in table.__struct_fields__
        if key not in KEPT and (value := getattr(table, key)) is not None
    }
    return msgspec.structs.replace(table, **changes)


def _value(key: str, value: Any, factor: float) -> Any:
    if isinstance(value, msgspec.Struct):
        return _divided(value, factor)
    if isinstance(value, tuple):
        return tuple(_value("", each, factor) for each in value)
    if key.endswith("_s") and not key.endswith("_per_s"):
        return value / factor
    if key == "messages" and value:
        return max(1, round(value / factor))
    return value


def _bounded(
    scenario: Scenario, before: Expectation, after: Expectation, factor: float
) -> Expectation:
    """An expectation with shorter windows, and bounds for the shorter time."""
    scale = 1 / factor if _is_in_seconds(scenario, before) else 1.0
    if before.divided_by is not None and _is_in_seconds(scenario, before.divided_by):
        scale *= factor
    least, most, threshold = before.at_least, before.at_most, before.threshold
    if least is not None:
        least *= 1 / factor if _counts_events(scenario, before) else scale
    if most is not None:
        most *= scale
    metric = _metric(scenario, before)
    if threshold is not None and metric is not None and metric.in_scenario_seconds:
        threshold /= factor
    return msgspec.structs.replace(after, at_least=least, at_most=most, threshold=threshold)


def _is_in_seconds(scenario: Scenario, measurement: Measurement) -> bool:
    """Whether the value is a time of the scenario."""
    if (measurement.aggregate or "").endswith("_s"):
        return True
    metric = _metric(scenario, measurement)
    in_seconds = metric is not None and metric.in_scenario_seconds
    return in_seconds and measurement.aggregate in OF_VALUES


def _counts_events(scenario: Scenario, expectation: Expectation) -> bool:
    """Whether the value is a number of events, and not a ratio of such numbers."""
    metric = _metric(scenario, expectation)
    counts = metric is not None and metric.kind == "count"
    return counts and expectation.aggregate in OF_EVENTS and expectation.divided_by is None


def _metric(scenario: Scenario, measurement: Measurement) -> Metric | None:
    """The metric that is measured, if a service of the scenario takes it from its history."""
    known = lab_services()
    for service in (measurement.service,) if measurement.service else scenario.services:
        if service in known and measurement.metric in known[service].metrics:
            return known[service].metrics[measurement.metric]
    return None

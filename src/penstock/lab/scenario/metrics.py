"""Which metrics a scenario's run can have; an expectation of any other is refused before the run.

1. Every service measures some from its history (``LabService.metrics``), and its brokers and
   clients record others (``LabService.telemetry``).  Every link is measured too.
2. ``violations`` counts broken rules of all services, and machines that raised.
3. A count may be asked for as a rate: ``delivered_rate`` is ``delivered`` a second.
"""

from __future__ import annotations

from typing import Final

from penstock.core.configuration import suggestion
from penstock.lab.oracle.history import Metric
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Aggregate, Measurement, Scenario
from penstock.lab.service import lab_services

VIOLATIONS: Final = "violations"
"""All broken rules of all services."""

MACHINE_FAILURES: Final = "machine_failures"
"""Machines that raised."""

RATE: Final = "_rate"
"""The end of the name of a count that is asked for as a rate."""

LINK_TELEMETRY: Final = frozenset(
    (
        "queue_bytes",
        "sent_bytes",
        "sent_messages",
        "dropped_messages",
        "bandwidth_bytes_per_s",
        "most_queued_bytes",
        "tcp_delivered_bytes",
        "telemetry_dropped",
    )
)
"""What links between brokers, cross traffic and the brokers themselves record."""

OF_COUNTS: Final = ("count", "rate", "last_at_s", "jain", "variation", "until_at_least_s")
"""The aggregates of a count; its events are worth as much as they count, so the others say nothing.
"""

OF_COUNTS_ALONE: Final = ("jain", "variation")
"""Aggregates over the totals of clients, which samples do not have."""

SHORT_NAMES: Final[dict[str, tuple[str, Aggregate]]] = {
    "link_bytes": ("sent_bytes", "increase"),
    "link_rate": ("sent_bytes", "rate"),
}
"""Short names for the most frequent link metrics."""


def history_metric(scenario: Scenario, what: Measurement) -> tuple[str, str, Metric] | None:
    """The service, the name and the metric that a measurement takes from a history.

    None if it is not one of these.  Raises ``ScenarioError`` if several services have it.
    """
    names = [what.metric, what.metric.removesuffix(RATE)]
    for name in dict.fromkeys(names):
        found = [
            (service, name, lab_services()[service].metrics[name])
            for service in _services(scenario, what)
            if name in lab_services()[service].metrics
        ]
        if found and name != what.metric and found[0][2].kind != "count":
            continue
        if len(found) > 1 and any(metric.kind != "rule" for _, _, metric in found):
            services = ", ".join(service for service, _, _ in found)
            raise ScenarioError(
                f"metric: {what.metric!r} is measured by {services}; choose one with service = …"
            )
        if found:
            return found[0]
    return None


def _services(scenario: Scenario, what: Measurement) -> tuple[str, ...]:
    return (what.service,) if what.service else scenario.services


def known_metrics(scenario: Scenario) -> list[str]:
    """Everything that can be measured, by name."""
    names = [VIOLATIONS, MACHINE_FAILURES]
    for service in scenario.services:
        names += lab_services()[service].metrics
    names += SHORT_NAMES
    return list(dict.fromkeys([*names, *sorted(recorded_metrics())]))


def all_rules() -> tuple[str, ...]:
    """The rules of all services, and what counts them together."""
    rules = [
        name
        for service in lab_services().values()
        for name, metric in service.metrics.items()
        if metric.kind == "rule"
    ]
    return (*dict.fromkeys(rules), MACHINE_FAILURES, VIOLATIONS)


def recorded_metrics() -> frozenset[str]:
    """The metrics of telemetry."""
    own = (service.telemetry for service in lab_services().values())
    return frozenset(LINK_TELEMETRY.union(*own))


def check_measurement(scenario: Scenario, where: str, what: Measurement) -> None:
    """Raise ``ScenarioError`` if a run of the scenario cannot have a measurement."""
    if what.to_s is not None and what.to_s <= what.from_s:
        raise ScenarioError(f"{where}.to_s: must be later than from_s")
    if what.service and what.service not in scenario.services:
        raise ScenarioError(
            f"{where}.service: no client uses {what.service!r}; "
            f"{suggestion(what.service, scenario.services)}"
        )
    until = what.aggregate in ("until_at_most_s", "until_at_least_s")
    if until != (what.threshold is not None):
        raise ScenarioError(
            f"{where}.threshold: "
            + (f"missing; {what.aggregate} needs it" if until else "goes with until_… only")
        )
    try:
        found = history_metric(scenario, what)
    except ScenarioError as error:
        raise ScenarioError(f"{where}.{error}") from None
    if what.metric in (VIOLATIONS, MACHINE_FAILURES):
        _check_rule(where, what)
        return
    if found is not None:
        _check_history(scenario, where, what, *found[1:])
        return
    if what.metric not in SHORT_NAMES and what.metric not in recorded_metrics():
        known = known_metrics(scenario)
        raise ScenarioError(
            f"{where}.metric: there is no metric {what.metric!r}; {suggestion(what.metric, known)}"
        )


def _check_rule(where: str, what: Measurement) -> None:
    if what.subject or what.node or what.from_s or what.to_s is not None:
        raise ScenarioError(
            f"{where}: {what.metric!r} is counted over the whole run; "
            "it takes no subject, node and times"
        )
    if what.aggregate not in (None, "count"):
        raise ScenarioError(f"{where}.aggregate: {what.metric!r} is one number; remove it")


def _check_aggregate(where: str, what: Measurement, kind: str, *, as_rate: bool) -> None:
    if what.aggregate is None:
        return
    if as_rate and what.aggregate != "rate":
        raise ScenarioError(f"{where}.aggregate: {what.metric!r} is a rate already; remove it")
    if kind == "count" and what.aggregate not in OF_COUNTS:
        raise ScenarioError(
            f"{where}.aggregate: {what.metric!r} is a count; use {', '.join(OF_COUNTS)}"
        )
    if kind == "sample" and what.aggregate in OF_COUNTS_ALONE:
        raise ScenarioError(
            f"{where}.aggregate: {what.metric!r} is no count; {what.aggregate} compares totals"
        )


def _check_history(
    scenario: Scenario, where: str, what: Measurement, name: str, metric: Metric
) -> None:
    if metric.kind == "rule":
        _check_rule(where, what)
        return
    _check_aggregate(where, what, metric.kind, as_rate=name != what.metric)
    if what.node:
        raise ScenarioError(
            f"{where}.node: {what.metric!r} is measured at clients; choose them with subject"
        )
    names = {name for each in scenario.clients for name in each.subjects}
    if what.subject and what.subject not in names:
        raise ScenarioError(
            f"{where}.subject: no client is called so or belongs to {what.subject!r}; "
            f"{suggestion(what.subject, sorted(names))}"
        )

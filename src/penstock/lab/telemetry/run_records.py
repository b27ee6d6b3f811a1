"""The records that a run adds to its own telemetry.

Brokers and links record their measurements; only the run knows its publishers, its faults and the
judgement of its history.  It records them in the same schema, as the node ``run``, so that a report
needs only the lake:

1. ``run_facts``, at the beginning: scenario, world, seed and the substituted parameters, as JSON in
   ``detail``; the value is the duration in seconds.
2. ``fault``, at its instant: the kind in ``detail``; the subject is the link, broker or client.
3. ``submitted``, ``acknowledged``, ``refused``, ``uncertain`` for each publisher and ``received``
   for each subscriber, at the end.
4. ``lost``, ``duplicated``, ``out_of_order``, ``unwanted``, ``corrupted``, ``misplaced`` and
   ``announced_lost`` of the whole run, and all ``violations`` together, at the end.
5. In place of 2 to 4, for a service with its own scenario format (service_runs.py): every number
   that the run measured, by its name, at the end, with ``measured`` in ``detail``.
6. ``failed`` in place of all that, for a simulation that did not finish: ``detail`` has the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import BandwidthChange, Fault
from penstock.lab.telemetry.measure import OUTCOMES, RULES
from penstock.sim.world import EPOCH

MEASURED: Final = "measured"
"""``detail`` of the numbers that a service measured."""

NODE: Final = "run"
"""The node of these records.  A broker may have the same name: its metrics have other names."""


class RunFacts(msgspec.Struct, frozen=True):
    """The origin of a run."""

    scenario: str
    world: str
    seed: int
    parameters: dict[str, Any] = {}
    """Values substituted in the scenario file, by path (docs/reference/lake.md)."""
    sweep: str = ""


def run_name(scenario: str, world: str, seed: int) -> str:
    """The name of a run in telemetry."""
    return f"{scenario}-{world}-{seed}"


def run_records(
    result: RunResult, parameters: Mapping[str, Any] | None = None, sweep: str = ""
) -> Iterator[TraceRecord]:
    """All records of a run about itself."""
    scenario = result.scenario
    facts = RunFacts(scenario.name, result.world, result.seed, dict(parameters or {}), sweep)
    yield _facts_record(facts, result.started_at, scenario.duration_s)
    for fault in scenario.faults:
        if fault.at_s <= scenario.duration_s:
            yield _fault_record(result, fault)
    at = result.ended_at
    for publisher in result.history.publishers.values():
        yield TraceRecord(at, NODE, publisher.name, "submitted", len(publisher))
        for metric, outcome in OUTCOMES.items():
            yield TraceRecord(at, NODE, publisher.name, metric, publisher.count(outcome))
    for subscriber in result.history.subscribers.values():
        yield TraceRecord(at, NODE, subscriber.name, "received", len(subscriber))
    for rule in RULES:
        count = float(getattr(result.judgement, rule))
        yield TraceRecord(at, NODE, scenario.name, rule, count)


def service_records(
    facts: RunFacts,
    duration_s: float,
    measured: Mapping[str, Any],
    records: Sequence[TraceRecord],
) -> Iterator[TraceRecord]:
    """The records of a service with its own scenario format about itself, after ``records``."""
    began, ended = (records[0].at, records[-1].at) if records else (EPOCH, EPOCH)
    yield _facts_record(facts, began, duration_s)
    for name, value in numbers_of(measured).items():
        yield TraceRecord(ended, NODE, facts.scenario, name, value, MEASURED)


def numbers_of(measured: Mapping[str, Any]) -> dict[str, float]:
    """Every number by its name; one inside a table or a list is called ``name.key``."""
    found: dict[str, float] = {}
    for name, value in measured.items():
        if isinstance(value, int | float):
            found[name] = float(value)
        elif isinstance(value, Mapping):
            found |= {f"{name}.{key}": each for key, each in numbers_of(value).items()}
        elif isinstance(value, list | tuple):
            inside = numbers_of({str(place): each for place, each in enumerate(value)})
            found |= {f"{name}.{place}": each for place, each in inside.items()}
    return found


def failure_records(facts: RunFacts, reason: str) -> list[TraceRecord]:
    """The records of a simulation that did not finish."""
    failed = TraceRecord(EPOCH, NODE, facts.scenario, "failed", 1.0, reason)
    return [_facts_record(facts, EPOCH, 0.0), failed]


def _facts_record(facts: RunFacts, at: Instant, duration_s: float) -> TraceRecord:
    detail = msgspec.json.encode(facts).decode()
    return TraceRecord(at, NODE, facts.scenario, "run_facts", duration_s, detail)


def _fault_record(result: RunResult, fault: Fault) -> TraceRecord:
    (kind,) = fault.kinds
    value = getattr(fault, kind)
    number = 1.0
    if isinstance(value, BandwidthChange):
        number, value = float(value.bytes_per_s), value.link
    subject = value if isinstance(value, str) else "-".join(value)
    return TraceRecord(result.instant(fault.at_s), NODE, subject, "fault", number, kind)

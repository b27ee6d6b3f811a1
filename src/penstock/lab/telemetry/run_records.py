"""The records that a run adds to its own telemetry.

Brokers and links record their measurements; only the run knows its clients, its faults and the
judgements of its histories.  It records them in the same schema, as the node ``run``, so that a
report needs only the lake:

1. ``run_facts``, at the beginning: scenario, world, seed and the substituted parameters, as JSON in
   ``detail``; the value is the duration in seconds.
2. ``fault``, at its instant: the kind in ``detail``; the subject is the link, broker or client.
   Changes of a link that the scenario planned are ``bandwidth`` or ``path``.
3. For each client the numbers of its service, such as ``submitted`` or ``received``, at the end.
4. How often each rule was broken in the whole run, and all ``violations`` together, with ``judged``
   in ``detail``, at the end.  In a sweep, where many points cannot finish in time, messages that
   may still have been in flight are only ``unfinished``, and neither ``lost`` nor violations.
5. The value of every other expectation, by its name, with ``measured`` in ``detail``, at the end.
6. ``failed`` in place of all that, for a simulation that did not finish: ``detail`` has the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from penstock.core.clock import Instant
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.guaranteed.judge import LOST, UNFINISHED
from penstock.lab.result import RunResult
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.metrics import VIOLATIONS
from penstock.lab.scenario.model import BandwidthChange, Fault
from penstock.sim.world import EPOCH

JUDGED: Final = "judged"
"""``detail`` of the counts of rules: a count of a client may have the name of a rule."""

MEASURED: Final = "measured"
"""``detail`` of the values of expectations."""

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
    yield from _change_records(result)
    at = result.ended_at
    for history in result.histories.values():
        for client, metric, count in history.totals():
            yield TraceRecord(at, NODE, client, metric, count)
    judgement = result.judgement
    # What breaks no rule in one service may have the name of a rule in another.
    rules = judgement.noted | judgement.broken | {VIOLATIONS: judgement.violations}
    if sweep and rules.get(UNFINISHED):
        rules |= {rule: rules[rule] - rules[UNFINISHED] for rule in (LOST, VIOLATIONS)}
    for rule, count in rules.items():
        yield TraceRecord(at, NODE, scenario.name, rule, count, JUDGED)
    for verdict in judge_expectations(result):
        if verdict.value is not None and verdict.what not in rules:
            yield TraceRecord(at, NODE, scenario.name, verdict.what, verdict.value, MEASURED)


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
    number = float(value.bytes_per_s) if isinstance(value, BandwidthChange) else 1.0
    return TraceRecord(result.instant(fault.at_s), NODE, fault.subject, "fault", number, kind)


def _change_records(result: RunResult) -> Iterator[TraceRecord]:
    for link in result.scenario.links:
        subject = "-".join(link.between)
        for change in link.changes:
            if change.at_s > result.scenario.duration_s:
                continue
            at = result.instant(change.at_s)
            if change.bandwidth_bytes_per_s is not None:
                rate = float(change.bandwidth_bytes_per_s)
                yield TraceRecord(at, NODE, subject, "fault", rate, "bandwidth")
            if (change.latency_ms, change.jitter_ms, change.loss) != (None, None, None):
                yield TraceRecord(at, NODE, subject, "fault", 1.0, "path")

"""One run of one experiment of the Gryphon paper, reduced to what the table and the figures need.

A run is a scenario file with a law, a seed and a few parameters substituted.  Only a small result
is kept of it, so that runs can be distributed over processes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np

from penstock.core.clock import SECOND
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import load_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.sim import SimRun
from penstock.services.guaranteed.telemetry import ThrottleDetail

SCENARIOS: Final = Path(__file__).parents[1] / "scenarios"

Curve: TypeAlias = list[tuple[float, float]]
"""Values over the seconds of a run."""

CAUGHT_UP_S: Final = 2.0
"""An edge has recovered when no stream of it lags more than this."""


class Job(msgspec.Struct, frozen=True):
    """What to run."""

    experiment: str
    law: str
    seed: int
    congestion: dict[str, Any] = {}
    guaranteed: dict[str, Any] = {}
    bandwidth: tuple[str, str, int] | None = None
    """A link's limit that replaces the file's."""
    duration_s: float | None = None


class Kept(msgspec.Struct):
    """The kept result of a run."""

    job: Job
    violations: int
    lost: int
    duplicated: int
    out_of_order: int
    delivered: dict[str, Curve]
    """Messages per second of each subscriber."""
    published: Curve
    published_by_pubend: dict[str, Curve]
    horizon_rate: dict[str, Curve]
    """For each edge, the mean over its pubends."""
    lag_s: dict[str, Curve]
    """For each edge, the worst of its pubends."""
    recovering: dict[str, Curve]
    nack_window_ms: dict[str, Curve]
    queue_bytes: dict[str, Curve]
    dropped: float
    alerts_nonrecovering: Curve
    alerts_recovering: Curve
    blamed: dict[str, int]
    """How often each broker and each link was named as the cause of a limit."""


def scenario_of(job: Job) -> Scenario:
    """The scenario file with the job's law and parameters substituted."""
    scenario = load_scenario(SCENARIOS / f"{job.experiment}.toml")
    table = dict(scenario.parameters.guaranteed)
    congestion = {**table.get("congestion", {}), "law": job.law, **job.congestion}
    table = {**table, **job.guaranteed, "congestion": congestion}
    links = scenario.links
    if job.bandwidth is not None:
        first, second, limit = job.bandwidth
        links = tuple(
            msgspec.structs.replace(link, bandwidth_bytes_per_s=limit)
            if link.between == (first, second)
            else link
            for link in links
        )
    parameters = msgspec.structs.replace(scenario.parameters, guaranteed=table)
    return msgspec.structs.replace(
        scenario,
        parameters=parameters,
        links=links,
        duration_s=job.duration_s or scenario.duration_s,
    )


def run_job(job: Job) -> Kept:
    """Run in the simulator and keep the result."""
    scenario = scenario_of(job)
    return keep(job, run(scenario, SimRun(scenario, job.seed)))


def keep(job: Job, result: RunResult) -> Kept:
    """Reduce a run of either world."""
    published = _rates(result, "published_messages")
    blamed: Counter[str] = Counter()
    throttled = [record for record in result.telemetry.records if record.metric == "throttle"]
    for record in throttled:
        cause = msgspec.json.decode(record.detail, type=ThrottleDetail)
        blamed.update(name for name in (cause.broker, cause.link) if name)
    judgement = result.judgement
    return Kept(
        job=job,
        violations=judgement.violations,
        lost=judgement.lost,
        duplicated=judgement.duplicated,
        out_of_order=judgement.out_of_order,
        delivered={
            name: _per_second(result, np.array(history.received_at, dtype=np.int64))
            for name, history in result.history.subscribers.items()
        },
        published=_summed(published.values()),
        published_by_pubend=published,
        horizon_rate=_by_node(result, "doubt_horizon_rate", "mean"),
        lag_s=_by_node(result, "doubt_horizon_lag_s", "max"),
        recovering=_by_node(result, "recovering", "max"),
        nack_window_ms={
            node: [(at, 1000 * value) for at, value in curve]
            for node, curve in _by_node(result, "nack_window_s", "mean").items()
        },
        queue_bytes=_by_subject(result, "queue_bytes"),
        dropped=sum(
            points[-1][1] for points in result.telemetry.series("dropped_messages").values()
        ),
        alerts_nonrecovering=_all(result, "alert_nonrecovering"),
        alerts_recovering=_all(result, "alert_recovering"),
        blamed=dict(blamed),
    )


def _second(result: RunResult, at: int) -> float:
    return (at - result.started_at) / SECOND


def _per_second(result: RunResult, instants: np.ndarray[Any, Any]) -> Curve:
    seconds = (instants - result.started_at) // SECOND
    if not len(seconds):
        return []
    return [(float(at), float(count)) for at, count in enumerate(np.bincount(seconds))]


def _rates(result: RunResult, metric: str) -> dict[str, Curve]:
    curves = {}
    for (_, subject), points in result.telemetry.series(metric).items():
        curve = []
        for (before_at, before), (at, value) in itertools.pairwise(points):
            curve.append((_second(result, at), (value - before) * SECOND / (at - before_at)))
        curves[subject] = curve
    return curves


def _summed(curves: Any) -> Curve:
    return [
        (column[0][0], sum(value for _, value in column)) for column in zip(*curves, strict=False)
    ]


def _by_node(result: RunResult, metric: str, how: str) -> dict[str, Curve]:
    gathered: dict[str, dict[float, list[float]]] = {}
    for (node, _), points in result.telemetry.series(metric).items():
        for at, value in points:
            gathered.setdefault(node, {}).setdefault(_second(result, at), []).append(value)
    reduce = max if how == "max" else lambda values: sum(values) / len(values)
    return {
        node: [(at, reduce(values)) for at, values in sorted(by_time.items())]
        for node, by_time in gathered.items()
    }


def _by_subject(result: RunResult, metric: str) -> dict[str, Curve]:
    return {
        subject: [(_second(result, at), value) for at, value in points]
        for (_, subject), points in result.telemetry.series(metric).items()
    }


def _all(result: RunResult, metric: str) -> Curve:
    points = [
        (_second(result, at), value)
        for points in result.telemetry.series(metric).values()
        for at, value in points
    ]
    return sorted(points)


def mean_between(curve: Curve, low: float, high: float) -> float:
    """The mean of a curve over an interval."""
    values = [value for at, value in curve if low <= at < high]
    return sum(values) / len(values) if values else 0.0


def largest(curves: dict[str, Curve]) -> float:
    """The largest value of all curves."""
    return max((value for curve in curves.values() for _, value in curve), default=0.0)


def recovery_s(lag: Curve, mended_at: float) -> float:
    """Seconds from the repair of a link until the edge behind it has caught up."""
    for at, value in lag:
        if at > mended_at + 1 and value < CAUGHT_UP_S:
            return at - mended_at
    return float("inf")


def first_at_least(curve: Curve, wanted: float, after: float) -> float:
    """Seconds from ``after`` until a curve, averaged over three seconds, reaches a value."""
    values = [(at, value) for at, value in curve if at >= after]
    for place in range(2, len(values)):
        if sum(value for _, value in values[place - 2 : place + 1]) / 3 >= wanted:
            return values[place][0] - after
    return float("inf")


def jain(values: list[float]) -> float:
    """Jain's index of fairness."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0

"""How far a run of a case is from its optimum.

1. *Utilisation*: Σ min(achieved, optimum) / Σ optimum, over the flows that share a limited link and
   over all windows.  A flow above its optimum does not make up for one below.  Of a mixture, whose
   services define no common optimum, what all flows achieved together, by Σ optimum.
2. *Worst*: the least achieved / optimum of any flow in any window.  A mixture has none.
3. A flow *starves* if it gets less than a tenth of its optimum.
4. *Oscillation*: the mean variation of the flows, weighted by their optimum.
5. Of gossip, the utilisation is multiplied by the share of receivers that the ideal rate would
   reach, if they are less: who publishes too much is not near the optimum.
6. Of queues, the utilisation and the worst are the shortest possible time by the time that was
   needed.
"""

from __future__ import annotations

from time import process_time
from typing import Final

import msgspec

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.papers.held_out.attribution import Attribution, attribution
from penstock.papers.held_out.case import Case, Law
from penstock.papers.held_out.generator import case_of
from penstock.papers.held_out.gossip import COVERAGE
from penstock.papers.held_out.queues import START_S
from penstock.papers.held_out.rates import achieved

STARVING: Final = 0.1


class FlowScore(msgspec.Struct, frozen=True):
    """One flow in one phase; rates in bytes a second (gossip and queues: messages)."""

    name: str
    phase: int
    demand: float
    optimum: float
    achieved: float
    variation: float
    shares: bool
    """Whether it crosses a limited link."""

    @property
    def part(self) -> float:
        """Of the optimum."""
        return self.achieved / self.optimum if self.optimum else 1.0


class CaseScore(msgspec.Struct, frozen=True):
    """One run of one case."""

    seed: int
    kind: str
    law: Law
    utilisation: float
    worst: float | None
    starving: tuple[str, ...]
    oscillation: float
    attribution: Attribution
    violations: int
    """Broken promises of the services."""
    flows: tuple[FlowScore, ...]
    note: str = ""
    processor_s: float = 0.0


def run_case(seed: int, law: Law) -> CaseScore:
    """Draw a case, run it under a law, and measure it."""
    case = case_of(seed)
    started_s = process_time()
    result = run(world_of("sim", case.with_law(law), seed))
    scored = score(case, law, result)
    return msgspec.structs.replace(scored, processor_s=process_time() - started_s)


def score(case: Case, law: Law, result: RunResult) -> CaseScore:
    """The score of a run."""
    flows = tuple(_flow_scores(case, result))
    factor, note = 1.0, ""
    worst: float | None = min(each.part for each in flows)
    if case.kind == "gossip":
        factor, note = _coverage(case, result)
    utilisation = factor * _utilisation(case, flows)
    if case.kind == "queues":
        utilisation, note = _finished(case, result)
        worst = utilisation
    elif case.kind == "mixture":
        worst = None
    total = sum(each.optimum for each in flows)
    return CaseScore(
        case.seed,
        case.kind,
        law,
        utilisation,
        worst,
        tuple(dict.fromkeys(each.name for each in flows if each.part < STARVING)),
        sum(each.variation * each.optimum for each in flows) / total,
        attribution(case, result),
        result.judgement.violations,
        flows,
        note,
    )


def _flow_scores(case: Case, result: RunResult) -> list[FlowScore]:
    found = []
    for place, phase in enumerate(case.phases):
        optimum = case.optimum(phase)
        # A gossip group moves in rounds, which is also how often it is recorded.
        step_s = result.scenario.trace_interval_s
        for flow in case.flows:
            got = achieved(result, flow, phase, step_s)
            found.append(
                FlowScore(
                    flow.name,
                    place,
                    flow.demand,
                    optimum[flow.name],
                    got.bytes_per_s,
                    got.variation,
                    bool(flow.uses),
                )
            )
    return found


def _utilisation(case: Case, flows: tuple[FlowScore, ...]) -> float:
    counted = [each for each in flows if each.shares] or list(flows)
    optimum = sum(each.optimum for each in counted)
    if case.kind == "mixture":
        return min(1.0, sum(each.achieved for each in counted) / optimum)
    return sum(min(each.achieved, each.optimum) for each in counted) / optimum


def _coverage(case: Case, result: RunResult) -> tuple[float, str]:
    """The share of receivers by what the ideal rate reaches, at most 1."""
    phase = case.phases[0]
    receivers = measure(
        result,
        Measurement(metric="receivers", aggregate="mean", from_s=phase.from_s, to_s=phase.to_s),
    )
    return min(1.0, receivers / COVERAGE), f"receivers {100 * receivers:.1f} %"


def _finished(case: Case, result: RunResult) -> tuple[float, str]:
    """The shortest possible time by the time until everything was consumed."""
    total = sum(each.messages for each in result.scenario.clients if each.role == "producer")
    consumed = measure(result, Measurement(metric="consumed"))
    last_s = measure(result, Measurement(metric="consumed", aggregate="last_at_s")) - START_S
    note = f"{last_s:.1f} s of {case.bound_s:.1f} s"
    if consumed < total:
        note += f"; only {consumed:.0f} of {total} were consumed"
    return min(1.0, case.bound_s / last_s) * min(1.0, consumed / total), note

"""A single case in words: the network, the optimum, and what both laws made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.papers.held_out.attribution import NEARLY
from penstock.papers.held_out.case import NAMES, Case, Phase
from penstock.papers.held_out.optimum import link_use
from penstock.papers.held_out.score import CaseScore
from penstock.papers.held_out.table import happened


def explained(case: Case, scores: Sequence[CaseScore]) -> str:
    """The text of a case and its runs."""
    return "\n".join(_lines(case, scores))


def _lines(case: Case, scores: Sequence[CaseScore]) -> Iterator[str]:
    scenario = case.scenario
    fairness = "max-min" if case.alpha is None else f"α-fair, α = {case.alpha:.3g}"
    yield f"Case {case.seed}: {case.kind}; the optimum is {fairness}"
    yield f"  {len(scenario.brokers)} brokers, {len(scenario.clients)} clients"
    for link in scenario.links:
        if link.bandwidth_bytes_per_s:
            between = "-".join(link.between)
            yield f"  {between}: {link.bandwidth_bytes_per_s} bytes/s, {link.latency_ms:g} ms"
    if case.bound_s:
        yield f"  everything can be consumed in {case.bound_s:.1f} s"
    for place, phase in enumerate(case.phases):
        yield from _phase_lines(case, place, phase, scores)
    for score in scores:
        worst = "" if score.worst is None else f", worst flow {score.worst:.3f}"
        yield f"{NAMES[score.law]} law: {score.utilisation:.3f} of the optimum{worst}"
        yield f"  {happened(score)}"
        named = score.attribution
        if named.named:
            yield f"  causes: {named.right} of {named.named} right"
        for said, times in sorted(named.wrong.items(), key=lambda each: -each[1]):
            yield f"    {times} x {said}"


def _phase_lines(
    case: Case, place: int, phase: Phase, scores: Sequence[CaseScore]
) -> Iterator[str]:
    event = f" ({phase.event})" if phase.event else ""
    yield f"Phase {place + 1}{event}, measured from {phase.from_s:g} to {phase.to_s:g} s"
    flows = [each.shared for each in case.flows]
    use = link_use(flows, case.optimum(phase))
    full = [link for link in use if use[link] >= (1 - NEARLY) * phase.capacities[link]]
    if full:
        yield f"  full in the optimum: {', '.join(full)}"
    for flow in case.flows:
        own = [
            (score.law, each)
            for score in scores
            for each in score.flows
            if (each.name, each.phase) == (flow.name, place)
        ]
        if not own:
            continue
        parts = ", ".join(f"{law} {each.part:.2f}" for law, each in own)
        links = f"; {', '.join(flow.uses)}" if flow.uses else ""
        optimum = own[0][1].optimum
        yield f"  {flow.name}: wants {flow.demand:.4g}, optimum {optimum:.4g}: {parts}{links}"

"""The runs behind the table of the cost-benefit paper: scenarios, laws and repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from multiprocessing import get_context
from typing import Final, Literal, TypeAlias

import msgspec

from penstock.core.clock import MILLISECOND
from penstock.papers.cost_benefit.arrays import run_arrays
from penstock.papers.cost_benefit.machines import run_machines
from penstock.papers.cost_benefit.result import MulticastResult
from penstock.papers.cost_benefit.scenario import MulticastScenario, load, star
from penstock.papers.cost_benefit.tcp import run_tcp
from penstock.services.multicast.parameters import Benefit, Law, MulticastParameters, PaperLaw

Engine: TypeAlias = Literal["machines", "arrays", "tcp"]

WORKERS: Final = 2
STAR_SENDERS: Final = (5, 20, 50, 100, 200, 400, 800)
MANY_SENDERS: Final = 8000
STAR_DURATION_S: Final = 100.0
MANY_DURATION_S: Final = 300.0
"""Each of 8,000 senders sends a packet in 32 s: nine or ten of them can be compared."""

FAR: Final = 6.0
"""The factor for the length of links: a continent becomes the Earth."""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of run, without the seed."""

    scenario: str = ""
    senders: int = 0
    """Scenario 4 with this many senders, instead of a file."""
    law: Law = "improved"
    engine: Engine = "machines"
    benefit: Benefit = "throughput"
    synchronised: bool = False
    randomised: bool = True
    latency_factor: float = 1.0
    long_weight: float = 1.0
    """Scenario 3: the weight of the sender over all links."""
    lottery_ms: int | None = None
    shortest_period_ms: int | None = None
    """Other values than the chosen ones, to show the effect of those."""
    most_seeds: int = 1000

    def read(self) -> MulticastScenario:
        """The scenario with these changes."""
        if self.senders:
            many = self.senders == MANY_SENDERS
            duration_s = MANY_DURATION_S if many else STAR_DURATION_S
            return star(self.senders, duration_s=duration_s, warm_up_s=20.0)
        scenario = load(f"multicast-{self.scenario}")
        if self.synchronised:
            scenario = msgspec.structs.replace(scenario, start_spread_s=0.0)
        if self.latency_factor != 1:
            links = tuple(
                msgspec.structs.replace(each, latency_ms=each.latency_ms * self.latency_factor)
                for each in scenario.links
            )
            scenario = msgspec.structs.replace(scenario, links=links)
        if self.long_weight != 1:
            first = msgspec.structs.replace(scenario.senders[0], weight=self.long_weight)
            scenario = msgspec.structs.replace(scenario, senders=(first, *scenario.senders[1:]))
        return scenario

    def parameters(self) -> MulticastParameters:
        """The service's parameters under this law."""
        return MulticastParameters(
            law=self.law,
            benefit=self.benefit,
            paper=self._paper_law(),
            highest_weight=max(1.0, self.long_weight),
        )

    def _paper_law(self) -> PaperLaw:
        law = PaperLaw(randomised=self.randomised)
        if self.lottery_ms is not None:
            law = msgspec.structs.replace(law, lottery_ns=self.lottery_ms * MILLISECOND)
        if self.shortest_period_ms is not None:
            shortest_ns = self.shortest_period_ms * MILLISECOND
            law = msgspec.structs.replace(law, shortest_period_ns=shortest_ns)
        return law


def run_plan(job: tuple[RunPlan, int]) -> MulticastResult:
    """One run."""
    plan, seed = job
    if plan.engine == "tcp":
        return run_tcp(plan.read(), seed)
    run = run_machines if plan.engine == "machines" else run_arrays
    return run(plan.read(), plan.parameters(), seed)


Results: TypeAlias = dict[RunPlan, list[MulticastResult]]


def run_all(plans: Iterable[RunPlan], seeds: int, progress: Callable[[str], None]) -> Results:
    """Run every plan with every seed, longest first, on two processes."""
    wanted = list(dict.fromkeys(plans))
    jobs = [(plan, seed) for plan in wanted for seed in range(1, min(seeds, plan.most_seeds) + 1)]
    jobs.sort(key=lambda job: -_effort(job[0]))
    results: Results = {plan: [] for plan in wanted}
    with get_context("spawn").Pool(WORKERS) as pool:
        for done, (job, result) in enumerate(zip(jobs, pool.imap(run_plan, jobs), strict=True), 1):
            plan, seed = job
            results[plan].append(result)
            name = plan.scenario or f"{plan.senders} senders"
            progress(f"{done} of {len(jobs)}: {name}, {plan.law} law, {plan.engine}, seed {seed}")
    return results


def _effort(plan: RunPlan) -> int:
    if plan.engine == "machines":
        return 100_000 + len(plan.scenario)
    return plan.senders

"""Random histories of every service, and of all of them at once: no promise is broken.

Each seed is a scenario of its own with crashes, cuts, loss, full disks, failed syncs, and clients
that come and go.  All machines check their invariants after every fact, and the judge of each
service checks what its applications saw.
"""

from __future__ import annotations

import pytest

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.service import lab_services
from penstock.lab.worlds.sim import SimRun

EVERY = tuple(lab_services())
GROUP = 10


def judged(seed: int, services: tuple[str, ...]) -> RunResult:
    result = run(SimRun(random_scenario(seed, services), seed, checked=True))
    broken = {rule: count for rule, count in result.judgement.broken.items() if count}
    assert not broken, f"seed {seed} of {services}: {result.judgement.examples}"
    for service, history in result.histories.items():
        assert not history.pending, f"seed {seed} of {services}: messages of {service} hang"
    return result


@pytest.mark.parametrize("first_seed", range(0, 40, GROUP))
@pytest.mark.parametrize("service", [name for name in EVERY if name != "guaranteed"])
def test_a_service_keeps_its_promises(service: str, first_seed: int) -> None:
    """The guaranteed service has more of them, in tests/sim/test_histories.py."""
    delivered = 0
    for seed in range(first_seed, first_seed + GROUP):
        delivered += judged(seed, (service,)).delivered
    assert delivered > 100, "histories without traffic would prove nothing"


@pytest.mark.parametrize("first_seed", range(1000, 1030, GROUP))
def test_a_mixture_of_all_services_keeps_their_promises(first_seed: int) -> None:
    delivered = dict.fromkeys(EVERY, 0)
    for seed in range(first_seed, first_seed + GROUP):
        for service, history in judged(seed, EVERY).histories.items():
            delivered[service] += history.delivered
    assert all(delivered.values())


@pytest.mark.parametrize("seed", [3, 14])
def test_the_same_seed_gives_the_same_mixture(seed: int) -> None:
    scenario = random_scenario(seed, EVERY)
    runs = [run(SimRun(scenario, seed, digested=True)) for _ in range(2)]
    assert runs[0].digest == runs[1].digest

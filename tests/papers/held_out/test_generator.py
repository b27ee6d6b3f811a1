"""Every drawn case is a scenario that a file can hold, and the same seed draws the same case."""

from __future__ import annotations

import tomllib

import pytest

from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.write import to_toml
from penstock.papers.held_out.case import LAWS
from penstock.papers.held_out.generator import DRAWS, ORDER, case_of, kind_of, seeds_from

FIRST = 50_000
"""Not a seed of the table."""
SEEDS = range(FIRST, FIRST + 3 * len(ORDER))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_case_is_a_valid_scenario_under_both_laws(seed: int) -> None:
    case = case_of(seed)
    texts = [to_toml(case.with_law(law)) for law in LAWS]
    for text in texts:
        parse_scenario(tomllib.loads(text))
    assert texts[0] != texts[1]
    assert to_toml(case_of(seed).scenario) == to_toml(case.scenario)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_of_every_phase_is_feasible(seed: int) -> None:
    case = case_of(seed)
    for phase in case.phases:
        assert phase.begins_s < phase.from_s < phase.to_s <= case.scenario.duration_s
        rates = case.optimum(phase)
        for link, capacity in phase.capacities.items():
            use = sum(each.uses.get(link, 0.0) * rates[each.name] for each in case.flows)
            assert use <= capacity * 1.000_001
        for flow in case.flows:
            assert 0 < rates[flow.name] <= flow.demand * 1.000_001


def test_the_kinds_take_turns() -> None:
    assert {kind_of(seed) for seed in range(len(ORDER))} == set(DRAWS)
    assert seeds_from(1000, 3, "gossip") == [1004, 1014, 1024]
    assert seeds_from(7, 2) == [7, 8]

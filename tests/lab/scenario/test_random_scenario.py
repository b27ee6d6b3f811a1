"""Random scenarios are valid, reproducible, and have every kind of fault that is repaired."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from penstock.lab.scenario.file import check_scenario
from penstock.lab.scenario.model import FAULT_KINDS, Scenario
from penstock.lab.scenario.random_scenario import DURATION_S, MENDED_BY_S, random_scenario
from penstock.lab.service import lab_services

SEEDS = range(60)
NOT_DRAWN = {"bandwidth"}
"""A link's limit breaks no promise; random links have limits of their own."""

MENDED = {
    "cut": "mend",
    "crash": "restart",
    "fill_disk": "free_disk",
    "leave": "come_back",
    "close": "reopen",
}


@pytest.mark.parametrize("service", lab_services())
def test_the_scenarios_of_every_service_are_valid(service: str) -> None:
    for seed in SEEDS:
        scenario = random_scenario(seed, [service])
        check_scenario(scenario)
        assert scenario.services == (service,), f"seed {seed}"


@pytest.mark.parametrize("pair", list(combinations(lab_services(), 2)), ids="-".join)
def test_mixtures_are_valid(pair: tuple[str, str]) -> None:
    for seed in range(20):
        scenario = random_scenario(seed, pair)
        check_scenario(scenario)
        assert set(scenario.services) == set(pair), f"seed {seed}"


def test_a_seed_is_always_the_same_scenario() -> None:
    for seed in range(20):
        assert random_scenario(seed) == random_scenario(seed)
    assert len({repr(random_scenario(seed)) for seed in SEEDS}) == len(SEEDS)


def test_another_service_changes_neither_topology_nor_clients() -> None:
    other = next(name for name in lab_services() if name != "guaranteed")
    for seed in range(20):
        alone, both = random_scenario(seed), random_scenario(seed, ["guaranteed", other])
        assert both.links == alone.links
        assert [each.name for each in both.brokers] == [each.name for each in alone.brokers]
        own = tuple(each for each in both.clients if each.service == "guaranteed")
        assert own == alone.clients


def kinds_of(scenario: Scenario) -> Counter[str]:
    return Counter(kind for fault in scenario.faults for kind in fault.kinds)


def test_every_kind_of_fault_occurs() -> None:
    drawn = sum((kinds_of(random_scenario(seed)) for seed in range(300)), Counter())
    assert drawn.keys() == set(FAULT_KINDS) - NOT_DRAWN
    assert min(drawn.values()) > 5, drawn


def test_faults_are_repaired_before_the_end() -> None:
    for seed in range(300):
        scenario = random_scenario(seed)
        for broken, mended in MENDED.items():
            for fault in scenario.faults:
                if getattr(fault, broken) is None:
                    continue
                later = [
                    each
                    for each in scenario.faults
                    if getattr(each, mended) == getattr(fault, broken)
                    and fault.at_s <= each.at_s <= MENDED_BY_S
                ]
                assert later, f"seed {seed}: {fault.subject} stays broken ({broken})"
        assert all(fault.at_s <= DURATION_S for fault in scenario.faults)


def test_topologies_are_connected() -> None:
    for seed in SEEDS:
        scenario = random_scenario(seed)
        reached = {scenario.brokers[0].name}
        for _ in scenario.brokers:
            for link in scenario.links:
                if reached & set(link.between):
                    reached |= set(link.between)
        assert reached == {each.name for each in scenario.brokers}, f"seed {seed}"

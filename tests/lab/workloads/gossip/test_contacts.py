"""Whom a peer knows when it starts."""

from __future__ import annotations

from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.workloads.gossip.contacts import known_at_start
from penstock.lab.workloads.gossip.tables import peer_parameters, peers_of
from tests.lab.workloads.gossip.groups import group


def known(scenario: Scenario, name: str, start_s: float | None = None) -> set[str]:
    single = expanded(scenario)
    (client,) = (each for each in peers_of(single) if each.name == name)
    parameters = peer_parameters(client, single)
    at_s = client.start_s if start_s is None else start_s
    found = known_at_start(client, parameters, single, 1, at_s)
    assert len(set(found)) == len(found)
    return set(found)


SCENARIO = group(
    {"name": "p", "count": 10},
    {"name": "gone", "stop_s": 50.0},
    {"name": "late", "start_s": 60.0},
    {"name": "later", "start_s": 60.0, "contacts": 20},
    {"name": "other", "parameters": {"group": "other"}},
    view_size=4,
)


def test_the_first_peers_know_a_view_of_each_other() -> None:
    first = known(SCENARIO, "p0")
    assert len(first) == 4
    assert first <= {*(f"p{number}" for number in range(1, 10)), "gone"}
    assert first != known(SCENARIO, "p1")


def test_a_newcomer_is_told_some_of_those_that_are_present() -> None:
    present = {f"p{number}" for number in range(10)}
    assert len(known(SCENARIO, "late") & present) == 3
    assert known(SCENARIO, "later") == present


def test_groups_do_not_know_each_other() -> None:
    assert known(SCENARIO, "other") == set()


def test_a_peer_that_starts_again_is_told_those_that_are_present_then() -> None:
    assert known(SCENARIO, "gone", 70.0) <= {*(f"p{each}" for each in range(10)), "late", "later"}

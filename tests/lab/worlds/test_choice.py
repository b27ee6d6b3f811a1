from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.arrays.gossip.world import ArrayWorld
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.choice import world_of
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun

PEERS: dict[str, Any] = {"service": "gossip", "name": "p", "count": 4, "rate_msgs_per_s": 1}
SUBSCRIBER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "subscriber",
    "name": "s",
    "broker": "b",
}


def scenario(*clients: dict[str, Any]) -> Scenario:
    return parse_scenario(
        {
            "name": "x",
            "duration_s": 5,
            "brokers": [{"name": "b", "pubends": 1}],
            "clients": list(clients),
        }
    )


def test_worlds_are_chosen_by_name() -> None:
    assert isinstance(world_of("sim", scenario(SUBSCRIBER), 3), SimRun)
    assert isinstance(world_of("net", scenario(SUBSCRIBER), 3), NetRun)


def test_a_service_may_run_as_arrays() -> None:
    alone = parse_scenario({"name": "x", "duration_s": 5, "clients": [PEERS]})
    assert isinstance(world_of("arrays", alone, 3), ArrayWorld)


@pytest.mark.parametrize(
    ("clients", "told"),
    [
        ((PEERS, SUBSCRIBER), r"only the clients of one service .*, not of gossip, guaranteed"),
        ((), "only the clients of one service can run as arrays, not of none"),
        ((SUBSCRIBER,), "'guaranteed' does not run as arrays"),
    ],
)
def test_what_cannot_run_as_arrays_is_refused(
    clients: tuple[dict[str, Any], ...], told: str
) -> None:
    with pytest.raises(ScenarioError, match=told):
        world_of("arrays", scenario(*clients), 3)

"""Small scenarios with groups, for the tests of both worlds."""

from __future__ import annotations

from typing import Any

from penstock.lab.oracle.multicast.history import MulticastHistory
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.worlds.choice import world_of

LINE = {
    "brokers": [{"name": each} for each in "abc"],
    "links": [{"between": ["a", "b"]}, {"between": ["b", "c"]}],
}


def member(name: str, broker: str, group: str = "g", **keys: Any) -> dict[str, Any]:
    return {"service": "multicast", "role": "member", "name": name, "broker": broker,
            "group": group, **keys}  # fmt: skip


def sender(name: str, broker: str, *groups: str, **keys: Any) -> dict[str, Any]:
    return {"service": "multicast", "role": "sender", "name": name, "broker": broker,
            "groups": groups or ("g",), **keys}  # fmt: skip


def scenario(*clients: dict[str, Any], **keys: Any) -> Scenario:
    """Three brokers in a row."""
    whole = {"name": "groups", "duration_s": 2.0, **LINE, "clients": list(clients), **keys}
    return parse_scenario(whole)


def run_in(world: str, what: Scenario, seed: int = 1) -> RunResult:
    return run(world_of(world, what, seed))


def history_of(result: RunResult) -> MulticastHistory:
    history = result.histories["multicast"]
    assert isinstance(history, MulticastHistory)
    return history

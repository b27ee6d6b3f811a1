"""Small scenarios of gossip peers, and how to run them."""

from __future__ import annotations

from typing import Any

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.lab.worlds.sim import SimRun


def group(
    *clients: dict[str, Any],
    duration_s: float = 200.0,
    loss: float = 0.0,
    faults: tuple[dict[str, Any], ...] = (),
    **parameters: Any,
) -> Scenario:
    """A checked scenario of peers with rounds of 5 s."""
    common = {"datagram_bytes": 65_000, **parameters}
    return parse_scenario(
        {
            "name": "group",
            "duration_s": duration_s,
            "drain_s": 0.0,
            "parameters": {"gossip": common},
            "peer_network": {"loss": loss},
            "clients": [{"service": "gossip", **client} for client in clients],
            "faults": list(faults),
        }
    )


def run_checked(scenario: Scenario, seed: int = 1) -> SimRun:
    """Run the machines, which check themselves after every fact."""
    world = SimRun(scenario, seed, checked=True)
    run(world)
    return world


def run_in(world: str, scenario: Scenario, seed: int = 1) -> RunResult:
    return run(world_of(world, scenario, seed))


def measured(result: RunResult, metric: str, aggregate: Any = None, **window: Any) -> float:
    return measure(result, Measurement(metric=metric, aggregate=aggregate, **window))

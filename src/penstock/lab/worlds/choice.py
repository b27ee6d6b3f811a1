"""The worlds by name."""

from __future__ import annotations

from typing import Final

from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Scenario
from penstock.lab.service import lab_services
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.namespaces import Namespaces
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun
from penstock.lab.worlds.world import World

WORLDS: Final = ("sim", "net", "arrays")


def world_of(
    name: str,
    scenario: Scenario,
    seed: int,
    telemetry: Telemetry | None = None,
    *,
    namespaces: bool = False,
) -> World:
    """A world for a scenario; raises ``UnsupportedHere`` or ``ScenarioError`` if it cannot run it.

    ``sim`` is virtual time, ``net`` is processes on this machine (with ``namespaces`` each with a
    network stack of its own), ``arrays`` is a service as arrays over all its clients.
    """
    telemetry = telemetry or Telemetry()
    if name == "sim":
        return SimRun(scenario, seed, telemetry)
    if name == "net":
        return NetRun(scenario, seed, telemetry, layout=Namespaces() if namespaces else None)
    if len(scenario.services) != 1:
        raise ScenarioError(
            f"scenario {scenario.name!r}: only the clients of one service can run as arrays, not "
            f"of {', '.join(scenario.services) or 'none'}"
        )
    return lab_services()[scenario.services[0]].arrays(scenario, seed, telemetry)

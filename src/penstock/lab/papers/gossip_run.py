"""Run one gossip scenario file in whichever world suits it.

``python -m penstock.lab.papers.gossip_run gossip-dynamic [sim|net] [SEED]`` runs a shipped one; a
path runs any other.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import msgspec

from penstock.lab.papers.gossip_at_scale import run_arrays
from penstock.lab.papers.gossip_group import simulate
from penstock.lab.papers.gossip_live import run_live
from penstock.lab.papers.gossip_scenario import (
    GossipResult,
    GossipScenario,
    broken_expectations,
    read_scenario,
)

SHIPPED: Final = Path(__file__).parent / "scenarios"

MOST_MACHINES: Final = 500
"""Larger groups run as arrays: machines need a second for each round of 1,000 peers."""


def run_scenario(scenario: GossipScenario, world: str, seed: int) -> GossipResult:
    """One run; ``world`` is ``sim`` or ``net``."""
    if world == "net":
        return run_live(scenario, seed)
    if scenario.peers > MOST_MACHINES:
        return run_arrays(scenario, seed)
    return simulate(scenario, seed)


def main(path: str, world: str = "sim", seed: str = "1") -> int:
    """Print what was measured; 1 if an expectation does not hold."""
    shipped = SHIPPED / f"{path}.toml"
    scenario = read_scenario(shipped if shipped.exists() else Path(path))
    result = run_scenario(scenario, world, int(seed))
    measured = {
        name: value
        for name, value in msgspec.to_builtins(result).items()
        if not name.endswith("_by_round")
    }
    broken = broken_expectations(scenario, result)
    print(msgspec.json.encode({"scenario": scenario.name, **measured, "broken": broken}).decode())
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

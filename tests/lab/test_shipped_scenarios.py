"""Every shipped scenario meets its expectations, in both worlds."""

from pathlib import Path

import pytest

from penstock.lab.run import run
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.file import load_scenario
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun

SHIPPED = sorted((Path(__file__).parents[2] / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("world", [SimRun, NetRun], ids=["sim", "net"])
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_expectations_hold(path: Path, world: type[SimRun] | type[NetRun]) -> None:
    scenario = load_scenario(path)
    result = run(world(scenario, 1))
    failed = [verdict for verdict in judge_expectations(result) if not verdict.held]
    assert scenario.expect
    assert not failed

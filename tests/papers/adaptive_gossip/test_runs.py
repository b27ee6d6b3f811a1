"""Short runs of the paper's experiments, and the scenario files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from penstock import papers
from penstock.lab.experiments.experiment import Experiment, run_experiment
from penstock.lab.run import run
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.file import load_scenario
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.sim import SimRun
from penstock.papers.adaptive_gossip.experiments import EXPERIMENTS
from penstock.papers.adaptive_gossip.measures import PLAIN, rounds_kept

SCENARIOS = sorted(Path(papers.__file__).parent.glob("adaptive_gossip/scenarios/*.toml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_file_is_named_after_its_scenario_and_expects_something(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem
    assert scenario.expect


def test_plain_gossip_meets_its_expectations() -> None:
    (path,) = (each for each in SCENARIOS if each.stem == "gossip-plain")
    result = run(SimRun(load_scenario(path), 1))
    assert [verdict.held for verdict in judge_expectations(result)] == [True, True]
    assert measure(result, PLAIN.rate) == pytest.approx(30.0, rel=0.02)
    age = PLAIN.drop_age
    assert callable(age)
    assert age(result) == pytest.approx(3.7, rel=0.1), "Figure 2 at 30 msg/s"


def test_a_live_storm_breaks_no_rule() -> None:
    """A seventh of the time: the machine may be busy, so nothing is said of the receivers."""
    experiment = EXPERIMENTS["live storm"]
    assert isinstance(experiment, Experiment)
    result = run_experiment(msgspec.structs.replace(experiment, shorten=7 * experiment.shorten), 1)
    assert result.world == "net"
    assert result.judgement.violations == 0, result.judgement.examples
    assert result.delivered > 0
    assert 0 < rounds_kept(result, 0.1) <= 1.1

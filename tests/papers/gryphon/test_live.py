"""Short live runs of the Gryphon experiments: real processes, sockets, disks and limits."""

from __future__ import annotations

import msgspec
import pytest

from penstock.lab.experiments.experiment import Experiment, run_experiment
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import curve
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.namespaces import NoNamespaces, check_possible
from penstock.papers.gryphon.experiments import EXPERIMENTS
from penstock.papers.gryphon.measures import PUBLISHED

SHORTER = 25.0
"""An outage of 5 s, phases of 5 s."""


def run_shorter(key: str) -> RunResult:
    """One of the paper's live experiments, in less time; checks what holds on any machine."""
    experiment = EXPERIMENTS[key]
    assert isinstance(experiment, Experiment)
    result = run_experiment(msgspec.structs.replace(experiment, shorten=SHORTER), 1)
    assert result.world == "net"
    assert result.judgement.violations == 0, result.judgement.examples
    assert measure(result, Measurement(metric="queue_bytes")) < 1_000_000
    for subscriber in ("s1", "s2"):
        assert measure(result, Measurement(metric="delivered", subject=subscriber)) > 100
    return result


def test_e1_with_the_links_own_limits() -> None:
    result = run_shorter("E1 live improved")

    lag = curve(result, Measurement(metric="doubt_horizon_lag_s", node="sb2"), "max")
    assert max(value for _, value in lag) > 3, "the outage was not noticed"
    assert lag[-1][1] < 2, "the recovery did not finish"


def test_e2_over_network_namespaces_with_kernel_token_buckets() -> None:
    try:
        check_possible()
    except NoNamespaces as why:
        pytest.skip(str(why))

    result = run_shorter("E2 over tc tbf improved")

    published = curve(result, PUBLISHED, "rate")
    assert any(rate < 400 for _, rate in published), "the publishers were not throttled"

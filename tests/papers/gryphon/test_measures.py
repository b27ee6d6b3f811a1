"""What is measured in the Gryphon runs, on short ones: E2, its named bottleneck, recoveries."""

from __future__ import annotations

import pytest

from penstock.lab.experiments.experiment import Experiment, run_experiment
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.papers.gryphon.measures import (
    caught_up_s,
    first_at_least,
    recovery_s,
    return_s,
    share_named,
    use_s,
)
from penstock.papers.gryphon.rows import DROPPED, LARGEST_QUEUE

THIN_LINK_MSGS_PER_S = 61440 / 368


@pytest.mark.parametrize(("law", "used"), [("paper", 0.80), ("improved", 0.95)])
def test_a_thin_link_is_used_and_named_and_nothing_is_lost(law: str, used: float) -> None:
    result = run_experiment(
        Experiment("gryphon-e2", {"congestion.law": law, "duration_s": 75}), seed=1
    )
    assert result.judgement.violations == 0
    assert measure(result, DROPPED) == 0
    late = Measurement(metric="delivered_rate", subject="s1", from_s=50, to_s=75)
    assert measure(result, late) >= used * THIN_LINK_MSGS_PER_S
    assert measure(result, LARGEST_QUEUE) < 1_000_000
    assert share_named(result, "ib->sb1", ("ib->sb2", "pb->ib")) >= 0.9
    assert share_named(result, "ib->sb2", ("ib->sb1",)) < 0.1
    assert use_s(result, "s1", 0.9 * THIN_LINK_MSGS_PER_S, 30.0) < 10


def test_without_control_the_thin_link_overflows() -> None:
    result = run_experiment(Experiment("gryphon-collapse-1", {"duration_s": 70}), seed=1)
    assert measure(result, DROPPED) > 0
    assert result.judgement["duplicated"] == result.judgement["out_of_order"] == 0


def test_a_recovery_ends_when_no_stream_lags() -> None:
    short = {"duration_s": 60, "faults.0.at_s": 5, "faults.1.at_s": 15}
    result = run_experiment(Experiment("gryphon-e1", short), seed=1)
    took_s = recovery_s(result, "sb2", 15.0)
    assert 2 <= took_s < 30
    assert return_s(result, "sb2", 15.0) < 60 - 15 - took_s
    assert recovery_s(result, "sb9", 15.0) == float("inf")


def test_caught_up_after_the_repair() -> None:
    lag = [(98.0, 0.0), (100.0, 60.0), (102.0, 30.0), (104.0, 1.0)]
    assert caught_up_s(lag, 99.0) == 5.0
    assert caught_up_s(lag[:3], 99.0) == float("inf")


def test_a_rate_is_reached_as_a_mean_of_three_seconds() -> None:
    rates = [(float(at), value) for at, value in enumerate((900.0, 0.0, 0.0, 450.0, 450.0, 450.0))]
    assert first_at_least(rates, 450, 1.0) == 4.0
    assert first_at_least(rates, 451, 1.0) == float("inf")

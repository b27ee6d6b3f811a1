"""Measures beyond single metrics, and what several runs give together."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Scenario
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.papers.adaptive_gossip.measures import (
    critical_ages,
    drop_age,
    ideal_rates,
    outputs,
    parts_of_ideal,
    rounds_kept,
    rounds_until_stable,
    settling_rounds,
)

ROUND = 5_000_000_000
START = 1_000 * ROUND


def result_of(*rows: tuple[float, str, str, float]) -> RunResult:
    """A run of four rounds with records of (round, node, metric, value)."""
    telemetry = Telemetry()
    for at_round, node, metric, value in rows:
        at = START + round(at_round * ROUND)
        telemetry.add(TraceRecord(at, node, "default", metric, value))
    scenario = Scenario(name="x", duration_s=20.0)
    return RunResult(scenario, "sim", 1, START, START + 4 * ROUND, {}, {}, telemetry)


def test_the_age_of_drops_excludes_the_warm_up() -> None:
    result = result_of(
        (0.5, "a", "dropped_events", 10.0),
        (3.5, "a", "dropped_events", 30.0),
        (0.5, "a", "dropped_event_ages", 20.0),
        (3.5, "a", "dropped_event_ages", 120.0),
        (2.5, "b", "dropped_events", 5.0),
        (2.5, "b", "dropped_event_ages", 50.0),
    )
    assert drop_age(result, 5.0) == pytest.approx((100 + 50) / (20 + 5))
    assert np.isnan(drop_age(result_of((0.5, "a", "dropped_events", 0.0)), 5.0))


def test_the_rounds_kept_are_those_of_the_median_peer() -> None:
    last = [(3.9, f"p{number}", "gossip_rounds", float(number)) for number in (1, 3, 4)]
    assert rounds_kept(result_of(*last), 5.0) == 0.75


def test_the_allowed_rate_is_that_of_all_senders() -> None:
    rows = [
        (number + phase, node, "allowed_msgs_per_s", 2.0 if number < 12 else 1.0)
        for number in range(90)
        for node, phase in (("a", 0.2), ("b", 0.7))
    ]
    assert 9 <= rounds_until_stable(result_of(*rows), 0.0, 450.0) <= 15
    assert rounds_until_stable(result_of(*rows), 100.0, 450.0) == 0


def test_a_rate_has_settled_when_it_stays_near_its_level() -> None:
    falling = [20.0 - number for number in range(10)] + [10.0] * 90
    assert 8 <= settling_rounds(falling) <= 12
    assert settling_rounds([10.0] * 100) == 0.0
    late = [10.0] * 60 + [12.0] * 5 + [10.0] * 35
    assert settling_rounds(late) > 60


def of_theory(factor: float, buffer: int = 60) -> list[list[float]]:
    """Receivers, rate and age of a run at a rate per buffer; theory says 95 % at 0.267."""
    return [[1 - 0.05 ** (0.267 / factor)], [factor * buffer], [5.3 * 0.267 / factor]]


def test_the_ideal_rate_and_the_critical_age_are_interpolated() -> None:
    runs = [*of_theory(0.25), *of_theory(0.285)]
    assert ideal_rates(runs) == pytest.approx([0.267 * 60])
    assert critical_ages(runs) == pytest.approx([5.3])


def test_a_rate_is_compared_with_the_ideal_or_the_offered_one() -> None:
    assert parts_of_ideal([[8.01], *of_theory(0.25), *of_theory(0.285)]) == pytest.approx([0.5])
    large = [*of_theory(0.25, 180), *of_theory(0.285, 180)]
    assert parts_of_ideal([[15.0], *large]) == pytest.approx([0.5]), "30 msg/s are offered"


def test_the_output_is_what_is_received() -> None:
    assert outputs([[10.0, 20.0], [0.5, 1.0]]) == [5.0, 20.0]

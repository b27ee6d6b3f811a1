"""The arrays agree with the machines, within noise, at 60 peers on the same seeds."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.arrays.gossip.world import ArrayWorld
from penstock.lab.result import RunResult
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Fault, Scenario
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.worlds.world import UnsupportedHere
from penstock.services.gossip.parameters import Law
from tests.lab.workloads.gossip.groups import group, measured, run_in


def sixty(law: Law, rate_msgs_per_s: float, rounds: int) -> Scenario:
    return group(
        {"name": "p", "count": 60, "rate_msgs_per_s": rate_msgs_per_s / 60},
        duration_s=5.0 * rounds,
        law=law,
        buffer_events=20,
        adaptation={"initial_rate_msgs_per_s": 0.25},
    )


def drop_age(result: RunResult) -> float:
    window: dict[str, Any] = {"aggregate": "increase", "from_s": 100.0}
    ages = measured(result, "dropped_event_ages", **window)
    return ages / measured(result, "dropped_events", **window)


@pytest.mark.parametrize("seed", [1, 2])
def test_plain_gossip_agrees_with_arrays(seed: int) -> None:
    scenario = sixty("none", 5.3, 52)
    machines, arrays = (run_in(world, scenario, seed) for world in ("sim", "arrays"))
    window: dict[str, Any] = {"from_s": 100.0, "to_s": 180.0}
    for result in (machines, arrays):
        assert measured(result, "published_rate", **window) == pytest.approx(5.3, rel=0.02)
    receivers = measured(machines, "receivers", "mean", **window)
    assert measured(arrays, "receivers", "mean", **window) == pytest.approx(receivers, abs=0.015)
    assert drop_age(arrays) == pytest.approx(drop_age(machines), rel=0.05)
    delivered = measured(machines, "delivered", subject="p7", **window)
    assert measured(arrays, "delivered", subject="p7", **window) == pytest.approx(
        delivered, rel=0.1
    )


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_both_laws_settle_at_the_same_rate(law: Law) -> None:
    scenario = sixty(law, 30.0, 110)
    machines, arrays = (run_in(world, scenario) for world in ("sim", "arrays"))
    window: dict[str, Any] = {"from_s": 300.0, "to_s": 480.0}
    rate = measured(machines, "published_rate", **window)
    assert measured(arrays, "published_rate", **window) == pytest.approx(rate, rel=0.05)
    receivers = measured(machines, "receivers", "mean", **window)
    assert measured(arrays, "receivers", "mean", **window) == pytest.approx(receivers, abs=0.01)
    allowed = measured(machines, "allowed_msgs_per_s", "mean", **window)
    assert measured(arrays, "allowed_msgs_per_s", "mean", **window) == (
        pytest.approx(allowed, rel=0.06)
    )


def test_the_result_is_judged_and_complete() -> None:
    result = run_in("arrays", sixty("none", 5.3, 20))
    assert (result.world, result.judgement.violations) == ("arrays", 0)
    assert measured(result, "published") == pytest.approx(5.3 * 100, rel=0.02)
    assert measured(result, "delivered") == result.delivered > 0


def test_offers_end_with_the_duration() -> None:
    world = ArrayWorld(sixty("none", 5.3, 4), 1, Telemetry())
    world.open()
    world.run_until(40.0)
    world.close()
    assert measured(world.result(), "published", from_s=20.0) == 0
    assert measured(world.result(), "published", to_s=20.0) > 0


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        ({"start_s": 5.0}, "peers that come and go"),
        ({"stop_s": 5.0}, "peers that come and go"),
        ({"rate_msgs_per_s": [[0, 1], [5, 2]]}, "rates and buffers that change"),
        ({"buffer_events": [[0, 9], [5, 20]]}, "rates and buffers that change"),
        ({"buffer_events": 9}, "peers with different buffers"),
        ({"parameters": {"fanout": 3}}, "peers with different parameters"),
    ],
)
def test_arrays_refuse_what_is_not_the_same_for_all(client: dict[str, Any], problem: str) -> None:
    scenario = group({"name": "p", "count": 3}, {"name": "q", **client})
    with pytest.raises(ScenarioError, match=f"{problem} cannot run as arrays; use --world sim"):
        ArrayWorld(scenario, 1, Telemetry())


def test_arrays_have_no_faults() -> None:
    scenario = group({"name": "p", "count": 3}, faults=({"at_s": 1.0, "leave": "p0"},))
    with pytest.raises(ScenarioError, match="faults cannot run as arrays"):
        ArrayWorld(scenario, 1, Telemetry())
    world = ArrayWorld(group({"name": "p", "count": 3}), 1, Telemetry())
    with pytest.raises(UnsupportedHere, match="use --world sim"):
        world.strike(Fault(at_s=1.0, leave="p0"))


def test_only_a_third_may_publish() -> None:
    scenario = group(
        {"name": "quiet", "count": 20},
        {"name": "p", "count": 10, "rate_msgs_per_s": 0.1},
        duration_s=100.0,
        law="none",
        buffer_events=40,
    )
    result = run_in("arrays", scenario)
    assert set(result.histories["gossip"].events("published")) == {f"p{each}" for each in range(10)}
    assert measured(result, "receivers", "mean", to_s=50.0) > 0.9

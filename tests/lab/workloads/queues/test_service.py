"""The queue service in the laboratory: what a scenario may say, and whole runs of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Measurement, Scenario
from penstock.lab.scenario.random_scenario import random_scenario
from penstock.lab.service import lab_services
from penstock.lab.telemetry.measure import measure
from penstock.lab.workloads.queues.service import QueuesLab
from penstock.lab.worlds.net import NetRun
from penstock.lab.worlds.sim import SimRun
from penstock.services.queues.broker import QueueBroker

Make = Callable[..., Scenario]


def measured(result: RunResult, metric: str, **how: Any) -> float:
    return measure(result, Measurement(metric=metric, **how))


def test_the_service_is_found_by_its_description() -> None:
    assert isinstance(lab_services()["queues"], QueuesLab)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"p.queue": "orderz"}, "'p'.queue: broker 'home' has no queue or alias queue 'orderz'"),
        ({"p.queue": "work@north"}, "'p'.queue: broker 'north' has no queue"),
        ({"p.rate_msgs_per_s": 0}, "'p': set rate_msgs_per_s, or max_in_flight"),
        ({"p.rate_msgs_per_s": [[2, 1], [1, 1]]}, "'p'.rate_msgs_per_s: the points of a curve"),
        ({"p.max_in_flight": 9}, "'p'.max_in_flight: must be 0 or at least batch_rows"),
        ({"p.attributes": {"kind": "cycle:4..0"}}, "'p'.attributes: .*empty range"),
        ({"east.queue": "nothing"}, "'east'.queue: broker 'east' has no queue 'nothing'"),
        ({"east.queue": "work@west"}, "'east'.queue: .*set broker = 'west'"),
        ({"east.queue": "orders", "east.broker": "home"}, "'orders' is an alias queue"),
        ({"east.selector": "kind ="}, "'east'.selector: "),
        ({"east.prefetch": 0}, "prefetch"),
        ({"p.prefetch": 5}, "prefetch: unknown key"),
    ],
)
def test_an_error_names_the_client_and_the_key(
    make_scenario: Make, changes: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ScenarioError, match=problem):
        make_scenario({f"clients.{path}": value for path, value in changes.items()})


@pytest.mark.parametrize("world", [SimRun, NetRun], ids=["sim", "net"])
def test_everything_is_consumed_once_in_both_worlds(
    make_scenario: Make, world: Callable[[Scenario, int], Any]
) -> None:
    result = run(world(make_scenario(), 1))
    assert result.judgement.violations == 0, result.judgement
    for metric in ("submitted", "confirmed", "delivered", "consumed"):
        assert measured(result, metric) == 600
    assert measured(result, "consumed", subject="east") > 0
    assert measured(result, "consumed", subject="work@west") > 0
    assert measured(result, "consumed", subject="work") == 600
    assert measured(result, "submitted", subject="orders") == 600
    assert measured(result, "refused") == measured(result, "redelivered") == 0
    assert measured(result, "delay_s", aggregate="p50") > 0
    assert measured(result, "consumed", aggregate="last_at_s") > 1
    assert measured(result, "queue_received_messages", aggregate="increase") > 0


@pytest.mark.parametrize("world", [SimRun, NetRun], ids=["sim", "net"])
def test_faults_lose_and_double_nothing_in_both_worlds(
    make_scenario: Make, world: Callable[[Scenario, int], Any]
) -> None:
    faults = [
        {"at_s": 1.5, "crash": "east"},
        {"at_s": 2.0, "restart": "east"},
        {"at_s": 2.2, "leave": "west"},
        {"at_s": 2.6, "come_back": "west"},
        {"at_s": 2.8, "close": "east"},
        {"at_s": 3.0, "reopen": "east"},
        {"at_s": 3.2, "leave": "p"},
        {"at_s": 3.4, "come_back": "p"},
    ]
    rates = {"clients.east.rate_msgs_per_s": 400, "clients.west.rate_msgs_per_s": 400}
    result = run(world(make_scenario(rates, faults=faults), 1))
    assert result.judgement.violations == 0, result.judgement
    assert result.histories["queues"].complete()
    assert measured(result, "consumed") >= measured(result, "confirmed") > 0


@pytest.mark.parametrize("world", [SimRun, NetRun], ids=["sim", "net"])
def test_a_rate_limits_a_consumer_and_what_is_in_flight_a_producer(
    make_scenario: Make, world: Callable[[Scenario, int], Any]
) -> None:
    changes = {
        "p.rate_msgs_per_s": 0,
        "p.max_in_flight": 100,
        "p.messages": 300,
        "p.queue": "work@east",
        "east.rate_msgs_per_s": [[0, 200], [2.0, 100]],
        "east.prefetch": 20,
        "west.stop_s": 3,
    }
    scenario = make_scenario({f"clients.{path}": value for path, value in changes.items()})
    result = run(world(scenario, 1))
    assert result.judgement.violations == 0, result.judgement
    assert measured(result, "consumed") == measured(result, "submitted") == 300
    # 200 in the second before the rate changes, and the rest at half of that rate.
    assert measured(result, "consumed", aggregate="last_at_s") >= 2.5


def test_a_consumer_with_a_selector_leaves_the_rest(make_scenario: Make) -> None:
    changes = {"clients.p.queue": "work@east", "clients.east.selector": "kind = 1"}
    result = run(SimRun(make_scenario(changes), 1, checked=True))
    assert result.judgement.violations == 0, result.judgement
    assert measured(result, "consumed") == 150
    assert measured(result, "left_in_queues") == 450


def test_a_consumer_that_stops_for_good_is_due_nothing(make_scenario: Make) -> None:
    changes = {"clients.p.queue": "work@east", "clients.east.stop_s": 2}
    result = run(SimRun(make_scenario(changes), 1, checked=True))
    assert result.judgement.violations == 0, result.judgement
    assert 0 < measured(result, "consumed") < measured(result, "confirmed")
    assert measured(result, "left_in_queues") > 0


def test_a_full_queue_refuses_and_nothing_refused_is_received(make_scenario: Make) -> None:
    changes = {
        "brokers.east.queues.work.depth_limit_messages": 20,
        "clients.p.queue": "work@east",
        "clients.east.rate_msgs_per_s": 50,
        "clients.east.prefetch": 10,
    }
    result = run(SimRun(make_scenario(changes), 1, checked=True))
    assert result.judgement.violations == 0, result.judgement
    assert measured(result, "refused") > 0
    assert measured(result, "consumed") == measured(result, "confirmed")


def test_the_same_seed_gives_the_same_run(make_scenario: Make) -> None:
    scenario = make_scenario({"clients.p.jitter_ms": 5})
    first, again, other = (run(SimRun(scenario, seed, digested=True)).digest for seed in (1, 1, 2))
    assert first == again != other


def test_the_telemetry_that_a_scenario_may_measure_is_recorded(make_scenario: Make) -> None:
    world = SimRun(make_scenario(), 1)
    run(world)
    node = world.world.brokers["home"].node
    assert node is not None
    assert isinstance(node.services["queues"], QueueBroker)
    records: list[TraceRecord] = list(world.telemetry.records)
    names = {each.metric for each in records if each.metric.startswith(("queue_", "alias_"))}
    assert names - {"queue_bytes"} == QueuesLab.telemetry


@pytest.mark.parametrize("seed", [*range(20), 180, 510])
def test_random_scenarios_break_no_rule(seed: int) -> None:
    """The last ones: a checkpoint after a failed sync, and a batch of which half is stored."""
    result = run(SimRun(random_scenario(seed, ("queues",)), seed, checked=True))
    assert result.judgement.violations == 0, result.judgement
    assert result.histories["queues"].delivered > 0

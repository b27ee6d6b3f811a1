"""The flow control as arrays: held against the broker machines on the same seeds."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.experiments.experiment import Experiment, run_experiment
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.choice import world_of
from penstock.lab.worlds.world import UnsupportedHere
from penstock.papers.cost_benefit.experiments import LAW, star
from tests.lab.workloads.multicast.groups import member, run_in, scenario, sender

LINKS = [
    {"between": ["a", "b"], "bandwidth_bytes_per_s": 1_250_000},
    {"between": ["b", "c"], "bandwidth_bytes_per_s": 250_000, "window_bytes": 20_000},
]
GREEDY = sender("s", "a", wire_bytes=1000)


def value(result: RunResult, metric: str, **keys: Any) -> float:
    return measure(result, Measurement(metric=metric, **keys))


def in_both(name: str, overrides: dict[str, Any], seed: int) -> tuple[RunResult, RunResult]:
    arrays, machines = (
        run_experiment(Experiment(name, overrides, world), seed) for world in ("arrays", "sim")
    )
    return arrays, machines


@pytest.mark.parametrize("benefit", ["throughput", "concave"])
@pytest.mark.parametrize("world", ["arrays", "sim"])
def test_a_weight_of_ten_gets_ten_times_the_rate(world: str, benefit: str) -> None:
    """The file names no highest weight: brokers of a scenario allow those of its senders."""
    heavy = sender("heavy", "a", weight=10, wire_bytes=1000)
    what = scenario(
        member("m", "c"), GREEDY, heavy, links=LINKS, duration_s=24.0,
        parameters={"multicast": {"benefit": benefit}},
    )  # fmt: skip
    result = run_in(world, what)
    window = {"from_s": 4, "to_s": 24}
    rates = [
        value(result, "sent", subject=each, aggregate="rate", **window) for each in ("s", "heavy")
    ]
    assert rates[1] / rates[0] == pytest.approx(10, rel=0.1)
    assert sum(rates) == pytest.approx(250, rel=0.03)


@pytest.mark.parametrize("world", ["arrays", "sim"])
def test_what_is_received_counts_for_each_member(world: str) -> None:
    """With √R a packet for two members gets four times the rate of one for a single member."""
    what = scenario(
        member("one", "c", "small"), member("two", "c", "large"), member("three", "c", "large"),
        sender("to-one", "a", "small", wire_bytes=1000),
        sender("to-two", "a", "large", wire_bytes=1000),
        links=LINKS, duration_s=24.0,
        parameters={"multicast": {"benefit": "concave", "benefit_counts": "received"}},
    )  # fmt: skip
    result = run_in(world, what)
    to_one, to_two = (
        value(result, "sent", subject=each, aggregate="rate", from_s=4, to_s=24)
        for each in ("to-one", "to-two")
    )
    assert to_two / to_one == pytest.approx(4, rel=0.1)
    assert to_one + to_two == pytest.approx(250, rel=0.03)


@pytest.mark.parametrize("world", ["arrays", "sim"])
def test_every_full_link_of_a_long_path_holds_its_target(world: str) -> None:
    """A message names the price of each of them, not only that of the dearest."""
    narrow = {"bandwidth_bytes_per_s": 250_000, "window_bytes": 20_000}
    links = [
        {"between": [*ends], **narrow, **({"bandwidth_bytes_per_s": 2_500_000} if wide else {})}
        for ends, wide in (("xa", True), ("ab", False), ("bc", False), ("cd", False))
    ]
    what = scenario(
        member("end", "d", "far"), *(member(f"to-{each}", each, f"at-{each}") for each in "bcd"),
        sender("long", "x", "far", weight=30, wire_bytes=1000),
        *(sender(f"at-{one}", one, f"at-{to}", wire_bytes=1000) for one, to in ("ab", "bc", "cd")),
        brokers=[{"name": each} for each in "xabcd"], links=links, duration_s=20.0,
    )  # fmt: skip
    result = run_in(world, what)
    for link in ("a->b", "b->c", "c->d"):
        highest = value(
            result, "most_queued_bytes", subject=link, aggregate="max", from_s=10.5, to_s=20
        )
        assert 10_000 < highest < 25_000, link


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_arrays_and_machines_agree(law: str) -> None:
    """Same policies, same scenario; what arrays leave out must not show."""
    both = in_both("multicast-2", {LAW: law, "duration_s": 9}, 1)
    window = {"from_s": 3, "to_s": 9}
    arrays, machines = (value(each, "sent_rate", **window) for each in both)
    assert arrays == pytest.approx(250, rel=0.03)
    assert machines == pytest.approx(250, rel=0.03)
    arrays, machines = (value(each, "most_queued_bytes", from_s=3.5, to_s=9) for each in both)
    assert arrays == pytest.approx(machines, abs=25_000)
    share = value(both[1], "link_price_bytes", subject="E->G", aggregate="rate", **window) / 250_000
    assert 0.004 < share < 0.0055, "the paper's 0.5 %"


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_arrays_and_machines_agree_on_the_shape_of_scenario_4(law: str) -> None:
    """A broker for each of twenty senders and twenty receivers, three receivers to a group."""
    both = in_both("multicast-star", {LAW: law, "duration_s": 7, **star(20)}, 1)
    window = {"from_s": 3, "to_s": 7}
    arrays, machines = (value(each, "sent_rate", **window) for each in both)
    assert arrays == pytest.approx(machines, rel=0.03)
    arrays, machines = (value(each, "most_queued_bytes", from_s=3.5, to_s=7) for each in both)
    assert arrays == pytest.approx(machines, abs=25_000)
    arrays, machines = (value(each, "sent", aggregate="jain", **window) for each in both)
    assert arrays == pytest.approx(machines, abs=0.03)


def test_a_chain_is_used_in_full_and_the_long_way_yields() -> None:
    """Scenario 3: of 10 Mbit/s the long sender costs four times what it gets."""
    starts = {f"clients.{each}.start_s": 0.0 for each in ("AB", "BC", "CD", "DE", "EF")}
    overrides = {LAW: "paper", "duration_s": 10, **starts}
    result = run_experiment(Experiment("multicast-3", overrides, "arrays"), 1)
    total, long = (
        value(result, "sent_rate", subject=subject, from_s=4, to_s=10) for subject in ("", "AF")
    )
    assert total + 4 * long > 9.7 * 125
    assert long < 0.15 * 125


def test_every_kind_of_packet_count_is_the_same_and_nothing_is_judged() -> None:
    result = run_in("arrays", scenario(member("m", "c"), GREEDY, links=LINKS, duration_s=3.0))
    assert result.world == "arrays"
    assert value(result, "sent") == value(result, "submitted") == value(result, "confirmed") > 200
    assert result.judgement.violations == 0
    assert value(result, "sent_bytes", subject="b->c", aggregate="last") == pytest.approx(
        1000 * value(result, "sent"), rel=0.3
    )
    totals = dict.fromkeys(f"{client} {metric}" for client, metric, _ in
                           result.histories["multicast"].totals())  # fmt: skip
    assert list(totals) == ["s sent"]


def test_senders_start_and_stop_when_the_scenario_says_and_bandwidth_changes() -> None:
    changes = [{"at_s": 4.0, "bandwidth_bytes_per_s": 125_000}]
    links = [LINKS[0], {**LINKS[1], "changes": changes}]
    short = {**GREEDY, "name": "short", "start_s": 1.0, "stop_s": 2.0}
    result = run_in(
        "arrays", scenario(member("m", "c"), GREEDY, short, links=links, duration_s=8.0)
    )
    events = result.histories["multicast"].events("sent")["short"]
    assert result.second(int(events.at.min())) >= 1.0
    assert result.second(int(events.at.max())) <= 2.001
    assert value(result, "sent_rate", subject="s", from_s=6, to_s=8) == pytest.approx(125, rel=0.1)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"links": [*LINKS, {"between": ["a", "c"]}]}, "a network that is a tree"),
        ({"clients": [sender("s", "a")]}, "the same wire_bytes"),
        ({"clients": [{**GREEDY, "rate_msgs_per_s": 5}]}, "sends as much as it may"),
        (
            {"brokers": [{"name": "a", "start_s": 1.0}, {"name": "b"}, {"name": "c"}]},
            "all brokers are the same",
        ),
    ],
)
def test_what_arrays_cannot_run_is_refused(keys: dict[str, Any], problem: str) -> None:
    clients = keys.pop("clients", [GREEDY])
    what = scenario(member("m", "c"), *clients, **{"links": LINKS, **keys})
    with pytest.raises(ScenarioError, match=problem):
        world_of("arrays", what, 1)


@pytest.mark.parametrize(
    "keys",
    [
        {"faults": [{"at_s": 1.0, "crash": "b"}]},
        {"faults": [{"at_s": 1.0, "bandwidth": {"link": ["a", "b"], "bytes_per_s": 1000}}]},
        {"links": [LINKS[0], {**LINKS[1], "changes": [{"at_s": 1.0, "latency_ms": 5}]}]},
    ],
)
def test_faults_that_arrays_do_not_have_are_refused(keys: dict[str, Any]) -> None:
    what = scenario(member("m", "c"), GREEDY, **{"links": LINKS, **keys})
    with pytest.raises(UnsupportedHere):
        run(world_of("arrays", what, 1))

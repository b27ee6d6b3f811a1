"""Trees, bottlenecks in both directions, and events."""

from __future__ import annotations

from random import Random

from penstock.lab.scenario.model import Link
from penstock.papers.held_out.events import SETTLE_S, outage, step
from penstock.papers.held_out.network import (
    CAPACITY_BYTES_PER_S,
    Network,
    bottlenecks,
    limited,
    random_network,
)

CHAIN = Network(
    ("a", "b", "c", "d"),
    (
        Link(between=("a", "b"), latency_ms=10),
        Link(between=("b", "c"), latency_ms=20),
        Link(between=("b", "d"), latency_ms=5),
    ),
)


def test_a_tree_counts_the_receivers_behind_each_link() -> None:
    assert CHAIN.tree("a", ["c", "d"]) == {"a->b": 2, "b->c": 1, "b->d": 1}
    assert CHAIN.tree("a", ["a"]) == {}
    assert CHAIN.round_trip_s(["a->b", "b->c"]) == 0.06


def test_random_networks_are_connected() -> None:
    for seed in range(50):
        network = random_network(Random(seed))
        first, *others = network.brokers
        reached = {link.split("->")[1] for link in network.tree(first, others)}
        assert reached == set(others)


def test_a_bottleneck_has_one_capacity_in_both_directions() -> None:
    used = ["a->b", "b->a", "b->c"]
    for seed in range(20):
        capacities = bottlenecks(Random(seed), used)
        low, high = CAPACITY_BYTES_PER_S
        assert all(low - 1 <= each <= high + 1 for each in capacities.values())
        assert capacities.get("a->b") == capacities.get("b->a")


def test_limits_and_changes_reach_the_link_of_either_direction() -> None:
    first, second, third = limited(CHAIN.links, {"b->a": 1000.0}, {"b->a": (30.0, 2000.0)})
    assert first.bandwidth_bytes_per_s == 1000
    assert [(each.at_s, each.bandwidth_bytes_per_s) for each in first.changes] == [(30.0, 2000)]
    assert second.bandwidth_bytes_per_s == third.bandwidth_bytes_per_s == 0


def test_a_step_changes_both_directions_of_a_link_and_nothing_else() -> None:
    plan = step(Random(1), {"a->b": 1000.0, "b->a": 1000.0})
    before, after = plan.phases
    assert after.begins_s == before.to_s
    assert after.from_s == after.begins_s + SETTLE_S
    assert after.capacities["a->b"] == after.capacities["b->a"] != 1000.0
    assert set(plan.changes) == {"a->b", "b->a"}


def test_an_outage_is_mended_and_has_time_to_recover() -> None:
    plan = outage(Random(1), {"a->b": 1000.0}, ["a->b"])
    cut, mend = plan.faults
    assert cut.cut == mend.mend == ("a", "b")
    lasts_s = mend.at_s - cut.at_s
    assert plan.phases[1].from_s >= mend.at_s + SETTLE_S + 3 * lasts_s

"""What the content-aware paper measures, on runs that are written by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.core.clock import SECOND, seconds
from penstock.core.trace import TraceRecord
from penstock.lab.experiments.experiment import Experiment, scenario_of
from penstock.lab.oracle.datagram.history import DatagramHistory
from penstock.lab.oracle.datagram.participants import PublisherHistory, SubscriberHistory
from penstock.lab.result import RunResult
from penstock.lab.scenario.numbering import expanded
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.datagram.messages import DatagramSource
from penstock.papers.content_aware import measures
from penstock.papers.content_aware.experiments import EXPERIMENTS
from penstock.services.datagram.parameters import DatagramParameters

Phases = Sequence[tuple[float, float, float]]
"""From when to when a subscriber received how many messages a second."""


def made_up(key: str, receptions: dict[str, Phases]) -> RunResult:
    """A run of an experiment's scenario in which subscribers received at these rates."""
    experiment = EXPERIMENTS[key]
    assert isinstance(experiment, Experiment)
    scenario = expanded(scenario_of(experiment))
    history = DatagramHistory(single_path=True)
    for name, phases in receptions.items():
        subscriber = history.add_subscriber(SubscriberHistory(name, ""))
        for from_s, to_s, rate in phases:
            for number in range(round((to_s - from_s) * rate)):
                subscriber.received({}, b"", 0, seconds(from_s + number / rate))
    end = seconds(scenario.duration_s + 1)
    return RunResult(scenario, "sim", 1, 0, end, {"datagram": history}, {}, Telemetry())


def test_a_varying_capacity_is_summed_step_by_step() -> None:
    result = made_up("capacity none", {})
    assert measures.capacity_bytes(result, 0.0, 240.0) == 120 * (125_000 + 250_000)
    assert measures.capacity_bytes(result, 30.0, 50.0) == 10 * (125_000 + 250_000)


NARROW, WIDE = 125_000 / 280, 250_000 / 280


@pytest.mark.parametrize(
    ("phases", "took_s"),
    [
        ([(1.0, 240.0, WIDE)], 0.25),
        ([(1.0, 120.0, WIDE), (120.0, 123.0, NARROW), (123.0, 240.0, WIDE)], 3.25),
        ([(1.0, 80.0, WIDE), (80.0, 120.0, NARROW), (120.0, 240.0, WIDE)], 0.25),
        ([(1.0, 200.0, WIDE), (200.0, 240.0, NARROW)], 41.25),
    ],
    ids=["always", "late once", "narrow in time", "never"],
)
def test_the_time_to_use_a_larger_capacity_is_the_longest_of_all_steps(
    phases: Phases, took_s: float
) -> None:
    result = made_up("capacity none", {"subscriber": phases})
    assert measures.adaptation_s(result) == took_s


def test_what_arrives_after_the_end_is_in_no_rate() -> None:
    result = made_up("disjoint none", {"near-subscriber": [(1.0, 60.5, 100.0)]})
    assert measures.delivered(result, "near-subscriber") == 5900


def test_the_delivered_part_is_of_the_time_from_the_first_message_on() -> None:
    result = made_up("load none", {"subscriber": [(1.0, 250.0, 62_500 / 280 / 2)]})
    assert measures.delivered_part(result) == pytest.approx(0.5, rel=0.001)


@pytest.mark.parametrize(
    ("rates", "per_cent"),
    [
        ((149.0, 149.0, 149.0), 0.0),
        ((298.0, 74.0, 74.0), 100.0),
        # More than the 446 messages of full size that fit: they are smaller, and shared too.
        ((192.0, 144.0, 144.0), 100 * 12 / 180),
    ],
    ids=["fair", "unfair", "smaller messages"],
)
def test_unfairness_is_the_worst_flows_distance_from_max_min(
    rates: tuple[float, ...], per_cent: float
) -> None:
    received = {f"subscriber-{pair}": [(100.0, 200.0, rate)] for pair, rate in enumerate(rates, 1)}
    result = made_up("fairness none", received)
    assert measures.unfairness(result, 120.0, 200.0) == pytest.approx(per_cent, abs=1)


def test_what_the_link_carried_is_a_part_of_its_capacity() -> None:
    result = made_up("fairness none", {})
    for second in range(302):
        sent = 100_000.0 * second
        record = TraceRecord(second * SECOND, "near", "near->far", "sent_bytes", sent)
        result.telemetry.add(record)
    assert measures.carried(result, 120.0, 200.0) == pytest.approx(0.8)
    assert measures.carried(result, 220.0, 300.0) == pytest.approx(1.6)
    whole = 99 * 250_000 + 100 * (125_000 + 62_500)
    assert measures.carried(result) == pytest.approx(299 * 100_000 / whole)


def test_losses_are_a_part_of_what_is_wanted_from_a_second_on() -> None:
    result = made_up("large none", {})
    history = result.histories["datagram"]
    assert isinstance(history, DatagramHistory)
    source = DatagramSource("publisher-1", "source", {}, 0, DatagramParameters(), 1)
    publisher = history.add_publisher(PublisherHistory("publisher-1", source))
    subscriber = history.add_subscriber(SubscriberHistory("behind0", ""))
    subscriber.in_force(0)
    for second in range(10):
        number = publisher.submitted(second * SECOND)
        publisher.sent(number, second * SECOND)
        if second in (6, 7):
            subscriber.received({}, source.payload(number), second * SECOND, second * SECOND + 1)
    assert measures.lost_part(result, "behind", 5.0) == 3 / 5
    assert measures.lost_at_least_one(result) == 8


def test_nothing_lost_counts_as_one_to_divide_by() -> None:
    assert measures.lost_at_least_one(made_up("load none", {"subscriber": []})) == 1

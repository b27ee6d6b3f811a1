"""Measures of the cost-benefit paper that are more than one measurement."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.arrays.multicast.history import ArrayHistory
from penstock.lab.result import RunResult
from penstock.lab.scenario.model import Scenario
from penstock.lab.telemetry.telemetry import Telemetry
from penstock.lab.workloads.multicast.tables import GroupSender
from penstock.papers.cost_benefit.measures import (
    adaptation_s,
    from_fair_share,
    ridden_share,
    worst_variation,
)
from penstock.papers.cost_benefit.tcp import chain_of_tcp


def result(duration_s: int, rates: dict[str, list[int]], *records: TraceRecord) -> RunResult:
    """A run in which each sender sent so many messages in each second."""
    history = ArrayHistory(list(rates))
    for number, of_seconds in enumerate(rates.values()):
        for second, count in enumerate(of_seconds):
            for place in range(count):
                history.sent(number, second * SECOND + place * SECOND // max(count, 1))
    clients = tuple(
        GroupSender(service="multicast", role="sender", name=name, broker="A", groups=("g",),
                    group_of=name.rstrip("0123456789"))
        for name in rates
    )  # fmt: skip
    telemetry = Telemetry()
    telemetry.extend(records)
    scenario = Scenario(name="x", duration_s=duration_s, clients=clients)
    end = duration_s * SECOND
    return RunResult(scenario, "arrays", 1, 0, end, {"multicast": history}, {}, telemetry)


def test_the_time_to_adapt() -> None:
    run = result(6, {"acfg0": [250, 250, 187, 125, 125, 125], "cdg0": [0, 0, 62, 125, 125, 125]})
    assert adaptation_s(run, 2, 1.0) == 2
    assert adaptation_s(run, 2, 5.0) == float("inf"), "never, within what was seen"


def test_the_papers_own_chain_is_1_7_percent_from_fair() -> None:
    run = result(2, {"S2": [618, 618], "S3": [640, 640]})
    assert from_fair_share(run, "S2", "S3", 0.0) == pytest.approx(1.75, abs=0.01)


def test_the_worse_of_two_variations_counts() -> None:
    rates = {"acfg0": [10] * 70, "acfg1": [10] * 70, "cdg0": [9] * 70, "cdg1": [11] * 70}
    assert worst_variation(result(70, rates)) == pytest.approx(10)


def test_the_share_of_prices_that_rode() -> None:
    records = [
        TraceRecord(at, "B", "B->C", metric, value)
        for at, rode, alone in ((1, 1, 0), (2, 30, 10))
        for metric, value in (("prices_rode_on_data", rode), ("prices_went_alone", alone))
    ]
    assert ridden_share(result(2, {"s": [1, 1]}, *records), "B->C") == 0.75


def test_a_long_tcp_connection_gets_less_than_its_share() -> None:
    numbers = chain_of_tcp(1)
    assert numbers["AF"] < 0.5
    assert numbers["total"] > 8
    assert numbers["AB 0"] == 0, "it starts at 5 s"

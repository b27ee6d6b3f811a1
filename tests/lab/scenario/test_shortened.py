from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from penstock.lab.oracle.history import Metric
from penstock.lab.scenario import shortened as module
from penstock.lab.scenario.curve import Curve, CurvePoint
from penstock.lab.scenario.error import ScenarioError
from penstock.lab.scenario.model import (
    BandwidthChange,
    Broker,
    Client,
    CrossTraffic,
    Expectation,
    Fault,
    Link,
    LinkChange,
    Measurement,
    Scenario,
)
from penstock.lab.scenario.shortened import shortened
from penstock.lab.service import LabService


class Sender(Client, frozen=True, kw_only=True):
    rate_msgs_per_s: Curve = 0.0
    messages: int = 0
    payload_bytes: int = 100
    settle_s: float = 1.0


class PostLab(LabService):
    """A service with one metric of each kind."""

    name = "post"
    roles: ClassVar[Mapping[str, type[Client]]] = {"sender": Sender}
    metrics: ClassVar[Mapping[str, Metric]] = {
        "delivered": Metric("letters"),
        "delay_s": Metric("of a letter", kind="sample"),
        "finished_s": Metric("when all was done", kind="sample", in_scenario_seconds=True),
        "lost": Metric("letters", kind="rule"),
    }


@pytest.fixture(autouse=True)
def post(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "lab_services", lambda: {"post": PostLab()})


SCENARIO = Scenario(
    name="slow",
    duration_s=100,
    drain_s=20,
    trace_interval_s=0.5,
    parameters={"post": {"period_s": 10}},
    brokers=(Broker(name="a", start_s=10, keys={"post": {"timeout_s": 5}}), Broker(name="b")),
    links=(Link(between=("a", "b"), latency_ms=50, changes=(LinkChange(at_s=30, latency_ms=20),)),),
    clients=(
        Sender(
            service="post",
            name="s",
            start_s=5,
            stop_s=50,
            start_every_s=1,
            stop_every_s=2,
            start_within_s=3,
            rate_msgs_per_s=(CurvePoint(0, 10), CurvePoint(40, 20)),
            messages=1005,
        ),
        Sender(service="post", name="t", rate_msgs_per_s=7),
    ),
    cross_traffic=(CrossTraffic(name="tcp", between=("a", "b"), start_s=20, stop_s=40),),
    faults=(
        Fault(at_s=10, crash="a"),
        Fault(at_s=20, bandwidth=BandwidthChange(link=("a", "b"), bytes_per_s=1000)),
    ),
)


def test_all_times_are_divided_and_rates_stay() -> None:
    short = shortened(SCENARIO, 10)

    assert (short.duration_s, short.drain_s, short.trace_interval_s) == (10, 20, 0.5)
    assert short.parameters == SCENARIO.parameters
    assert short.brokers == (
        Broker(name="a", start_s=1, keys={"post": {"timeout_s": 5}}),
        Broker(name="b"),
    )
    (link,) = short.links
    assert link.latency_ms == 50
    assert link.changes == (LinkChange(at_s=3, latency_ms=20),)
    first, second = short.clients
    assert (first.start_s, first.stop_s, first.start_every_s) == (0.5, 5, 0.1)
    assert (first.stop_every_s, first.start_within_s) == (0.2, 0.3)
    assert first.rate_msgs_per_s == (CurvePoint(0, 10), CurvePoint(4, 20))
    assert first.messages == 100
    assert second == SCENARIO.clients[1]
    assert short.cross_traffic == (
        CrossTraffic(name="tcp", between=("a", "b"), start_s=2, stop_s=4),
    )
    assert [fault.at_s for fault in short.faults] == [1, 2]
    assert short.faults[1].bandwidth == BandwidthChange(link=("a", "b"), bytes_per_s=1000)


def test_a_factor_of_one_changes_nothing() -> None:
    assert shortened(SCENARIO, 1) is SCENARIO


@pytest.mark.parametrize("factor", [0, -1])
def test_a_factor_must_be_positive(factor: float) -> None:
    with pytest.raises(ScenarioError, match="use a number above 0"):
        shortened(SCENARIO, factor)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"metric": "lost", "at_most": 5}, {"at_most": 5}),
        ({"metric": "finished_s", "at_most": 50, "at_least": 5}, {"at_most": 5, "at_least": 0.5}),
        ({"metric": "finished_s", "aggregate": "count", "at_most": 50}, {"at_most": 50}),
        ({"metric": "delay_s", "at_most": 5}, {"at_most": 5}),
        ({"metric": "delay_s", "aggregate": "last_at_s", "at_most": 5}, {"at_most": 0.5}),
        ({"metric": "queued", "aggregate": "until_at_most_s", "at_most": 5}, {"at_most": 0.5}),
        (
            {"metric": "finished_s", "aggregate": "until_at_most_s", "threshold": 4, "at_most": 5},
            {"threshold": 0.4, "at_most": 0.5},
        ),
        (
            {"metric": "queued", "aggregate": "until_at_most_s", "threshold": 4, "at_most": 5},
            {"threshold": 4, "at_most": 0.5},
        ),
        ({"metric": "delivered", "at_least": 50, "at_most": 80}, {"at_least": 5, "at_most": 80}),
        ({"metric": "delivered", "service": "other", "at_least": 50}, {"at_least": 50}),
        ({"metric": "delivered", "aggregate": "rate", "at_least": 50}, {"at_least": 50}),
        ({"metric": "link_bytes", "at_least": 50}, {"at_least": 50}),
        (
            {
                "metric": "finished_s",
                "divided_by": Measurement(metric="finished_s", from_s=20),
                "at_most": 3,
            },
            {"divided_by": Measurement(metric="finished_s", from_s=2), "at_most": 3},
        ),
        (
            {"metric": "delivered", "divided_by": Measurement(metric="link_bytes"), "at_least": 3},
            {"at_least": 3},
        ),
    ],
)
def test_bounds_of_seconds_and_least_numbers_shrink(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    scenario = Scenario(
        name="slow",
        duration_s=100,
        clients=SCENARIO.clients,
        expect=(Expectation(**{"from_s": 10, "to_s": 90, **before}),),
    )
    (short,) = shortened(scenario, 10).expect
    expected = Expectation(**{"from_s": 1, "to_s": 9, **before, **after})
    for key in expected.__struct_fields__:
        value = getattr(expected, key)
        wanted = pytest.approx(value) if isinstance(value, float) else value
        assert getattr(short, key) == wanted, key

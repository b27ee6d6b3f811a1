import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.sim.history import History, PublisherHistory, SubscriberHistory
from penstock.sim.judgement import judge
from penstock.sim.message_source import MessageSource, SourceSpec

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.result import RunResult
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.model import Broker, Expectation, Measurement, Scenario
from penstock.lab.telemetry.measure import NothingMeasured, aggregated, measure
from penstock.lab.telemetry.telemetry import Telemetry

START = 1000 * SECOND


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


@pytest.fixture
def result() -> RunResult:
    """Ten messages a second for ten seconds, each received half a second after its tick."""
    history = History()
    publisher = history.add_publisher(
        PublisherHistory("p", MessageSource(SourceSpec("p", "b.1", {}), 1))
    )
    subscriber = history.add_subscriber(
        SubscriberHistory("s", "b", "", from_earliest=False, identified=True)
    )
    for number in range(100):
        instant = at(number / 10)
        publisher.submitted(1, instant)
        publisher.acknowledged(number, 1, instant, instant)
        subscriber.message("b.1", instant, *publisher.source.row(number), at(number / 10 + 0.5))
    telemetry = Telemetry()
    for second, sent in enumerate((0, 100, 250, 30, 80)):
        telemetry.add(TraceRecord(at(second), "b", "b->c", "sent_bytes", sent))
    scenario = Scenario(name="x", duration_s=10, brokers={"b": Broker()})
    return RunResult(scenario, "sim", 1, START, at(20), history, judge(history), telemetry)


@pytest.mark.parametrize(
    ("measurement", "value"),
    [
        (Measurement(metric="violations"), 0),
        (Measurement(metric="acknowledged"), 100),
        (Measurement(metric="acknowledged", subject="b.1", from_s=1, to_s=2), 10),
        (Measurement(metric="acknowledged_rate", from_s=2, to_s=4), 10),
        (Measurement(metric="delivered", subject="s", to_s=1), 5),
        (Measurement(metric="delivered_rate", subject="b", from_s=5, to_s=10), 10),
        (Measurement(metric="submitted"), 100),
        (Measurement(metric="unsettled"), 0),
        (Measurement(metric="delay_s"), 0.5),
        (Measurement(metric="delay_s", aggregate="p50"), 0.5),
        (Measurement(metric="sent_bytes", subject="b->c"), 250),
        (Measurement(metric="link_bytes", subject="b->c"), 100 + 150 + 30 + 50),
        (Measurement(metric="link_rate", to_s=2), 125),
        (Measurement(metric="sent_bytes", aggregate="last"), 80),
        (Measurement(metric="sent_bytes", aggregate="mean", from_s=3), 55),
    ],
)
def test_metrics_are_computed_from_a_run(
    result: RunResult, measurement: Measurement, value: float
) -> None:
    assert measure(result, measurement) == pytest.approx(value)


@pytest.mark.parametrize(
    ("measurement", "told"),
    [
        (Measurement(metric="sent"), "metric 'sent' was not recorded.*sent_bytes"),
        (Measurement(metric="sent_bytes", subject="b->d"), "and subject 'b->d'"),
        (Measurement(metric="sent_bytes", from_s=15), "in this interval"),
        (Measurement(metric="delivered", subject="nobody"), "'nobody'"),
        (Measurement(metric="acknowledged", subject="nobody"), "'nobody'"),
    ],
)
def test_a_missing_measurement_is_an_error(
    result: RunResult, measurement: Measurement, told: str
) -> None:
    with pytest.raises(NothingMeasured, match=told):
        measure(result, measurement)


@given(st.lists(st.integers(0, 100), min_size=2))
def test_an_increase_is_never_negative_and_equals_the_difference_of_a_counter_without_restarts(
    steps: list[int],
) -> None:
    total, points = 0, []
    for place, step in enumerate(steps):
        total += step
        points.append((place, float(total)))
    assert aggregated("increase", [points]) == total - steps[0]
    assert aggregated("increase", [points[::-1]]) >= 0


def test_expectations_are_judged(result: RunResult) -> None:
    expectations = (
        Expectation(metric="delivered", at_least=100),
        Expectation(metric="delivered", at_most=99, why="too many"),
        Expectation(metric="delivered", divided_by=Measurement(metric="submitted"), at_least=1),
        Expectation(metric="unknown", at_most=1),
        Expectation(metric="delivered_rate", subject="s", from_s=1, to_s=2, at_least=9, at_most=11),
    )
    scenario = Scenario(name="x", duration_s=10, brokers={"b": Broker()}, expect=expectations)
    changed = RunResult(
        scenario, "sim", 1, START, at(20), result.history, result.judgement, result.telemetry
    )
    verdicts = judge_expectations(changed)
    assert [verdict.held for verdict in verdicts] == [True, False, True, False, True]
    assert verdicts[1].problem == "too many"
    assert verdicts[2].what == "delivered / submitted"
    assert "was not recorded" in verdicts[3].problem
    assert verdicts[4].what == "delivered_rate of s, 1 s to 2 s"
    assert verdicts[4].bound == "9 … 11"

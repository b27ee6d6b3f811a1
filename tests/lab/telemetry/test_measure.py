"""Every aggregate over counts, samples and telemetry; rules; windows and subjects."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.clock import SECOND
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.judgement import judgement_of
from penstock.lab.result import RunResult
from penstock.lab.scenario.expectations import judge_expectations
from penstock.lab.scenario.model import Aggregate, Broker, Expectation, Measurement, Scenario
from penstock.lab.telemetry.measure import NothingMeasured, aggregated, jain, measure, variation
from penstock.lab.telemetry.telemetry import Point, Telemetry
from penstock.lab.workloads.guaranteed.tables import Publisher, Subscriber
from penstock.lab.workloads.message_source import MessageSource, SourceSpec

START = 1000 * SECOND


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


def subscriber(name: str) -> Subscriber:
    return Subscriber(service="guaranteed", role="subscriber", name=name, broker="b", group_of="s")


SCENARIO = Scenario(
    name="x",
    duration_s=10,
    brokers=(Broker(name="b"),),
    clients=(
        subscriber("s0"),
        subscriber("s1"),
        Publisher(service="guaranteed", role="publisher", name="p", broker="b", pubend="b.1"),
    ),
)


def filled() -> GuaranteedHistory:
    history = GuaranteedHistory()
    source = MessageSource(SourceSpec("p", "b.1", {}), 1)
    publisher = history.add_publisher(PublisherHistory("p", source))
    readers = [
        history.add_subscriber(
            SubscriberHistory(name, "b", "", from_earliest=False, identified=True)
        )
        for name in ("s0", "s1")
    ]
    for number in range(100):
        instant = at(number / 10)
        publisher.submitted(1, instant)
        publisher.acknowledged(number, 1, instant, instant)
        row = source.row(number)
        readers[0].message("b.1", instant, *row, at(number / 10 + 0.5))
        if number < 50:
            readers[1].message("b.1", instant, *row, at(number / 10 + 2))
    return history


@pytest.fixture(scope="module")
def result() -> RunResult:
    """Ten messages a second for ten seconds.

    s0 receives each after half a second, s1 the first half of them after two seconds.  Two links
    are measured every second, in turn.
    """
    history = filled()
    telemetry = Telemetry()
    for second, sent in enumerate((0, 100, 250, 30, 80)):
        telemetry.add(TraceRecord(at(second), "b", "b->c", "sent_bytes", sent))
    for second, queued in enumerate((900, 500, 50, 700, 20)):
        telemetry.add(TraceRecord(at(second), "b", "b->c", "queue_bytes", queued))
        telemetry.add(TraceRecord(at(second + 0.5), "c", "c->b", "queue_bytes", 10 * second))
    judged = judgement_of(("lost", "duplicated"), ("announced_lost",))
    judged.broken["lost"] = 3
    judged.noted["announced_lost"] = 2
    judgements = {"guaranteed": judged}
    return RunResult(
        SCENARIO,
        "sim",
        1,
        START,
        at(20),
        {"guaranteed": history},
        judgements,
        telemetry,
        ("b failed",),
    )


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({"metric": "lost"}, 3),
        ({"metric": "lost", "service": "guaranteed"}, 3),
        ({"metric": "duplicated"}, 0),
        ({"metric": "announced_lost"}, 2),
        ({"metric": "machine_failures"}, 1),
        ({"metric": "violations"}, 4),
        ({"metric": "violations", "service": "guaranteed"}, 3),
    ],
)
def test_rules_come_from_the_judgements(
    result: RunResult, keys: dict[str, Any], value: float
) -> None:
    assert measure(result, Measurement(**keys)) == value


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({"metric": "acknowledged"}, 100),
        ({"metric": "acknowledged", "aggregate": "count"}, 100),
        ({"metric": "acknowledged", "subject": "b.1", "from_s": 1, "to_s": 2}, 10),
        ({"metric": "acknowledged_rate", "from_s": 2, "to_s": 4}, 10),
        ({"metric": "acknowledged", "aggregate": "rate", "from_s": 2, "to_s": 4}, 10),
        ({"metric": "acknowledged_rate"}, 100 / 20),
        ({"metric": "submitted"}, 100),
        ({"metric": "unsettled"}, 0),
        ({"metric": "delivered"}, 150),
        ({"metric": "delivered", "subject": "s0", "to_s": 1}, 5),
        ({"metric": "delivered", "subject": "s1"}, 50),
        ({"metric": "delivered", "subject": "s"}, 150),
        ({"metric": "delivered_rate", "subject": "b", "from_s": 5, "to_s": 6}, 20),
        ({"metric": "delivered", "aggregate": "jain"}, 150**2 / (2 * (100**2 + 50**2))),
        ({"metric": "delivered", "aggregate": "jain", "from_s": 3, "to_s": 4}, 1),
        ({"metric": "delivered", "aggregate": "variation"}, 25 / 75),
        ({"metric": "delivered", "aggregate": "last_at_s"}, 10.4),
        ({"metric": "delivered", "aggregate": "last_at_s", "subject": "s1"}, 6.9),
        ({"metric": "delivered", "aggregate": "last_at_s", "from_s": 2, "to_s": 3}, 2.9),
        ({"metric": "submitted", "aggregate": "until_at_least_s", "threshold": 11}, 1),
        ({"metric": "delivered", "aggregate": "until_at_least_s", "threshold": 17}, 2),
        (
            {"metric": "submitted", "aggregate": "until_at_least_s", "threshold": 6, "from_s": 4},
            0.5,
        ),
        ({"metric": "delivered", "aggregate": "until_at_least_s", "threshold": 151}, math.inf),
    ],
)
def test_counts(result: RunResult, keys: dict[str, Any], value: float) -> None:
    assert measure(result, Measurement(**keys)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({}, 2),
        ({"aggregate": "max"}, 2),
        ({"aggregate": "min"}, 0.5),
        ({"aggregate": "mean"}, (100 * 0.5 + 50 * 2) / 150),
        ({"aggregate": "mean", "subject": "s1"}, 2),
        ({"aggregate": "p50"}, 0.5),
        ({"aggregate": "p99"}, 2),
        ({"aggregate": "count"}, 150),
        ({"aggregate": "first"}, 2.5),
        ({"aggregate": "last"}, 2.5),
        ({"aggregate": "last_at_s"}, 10.4),
        ({"from_s": 7}, 0.5),
        ({"aggregate": "until_at_most_s", "threshold": 1, "subject": "s0"}, 0.5),
        ({"aggregate": "until_at_most_s", "threshold": 1}, math.inf),
        ({"aggregate": "until_at_least_s", "threshold": 2, "subject": "s1", "from_s": 1.5}, 0.5),
    ],
)
def test_samples(result: RunResult, keys: dict[str, Any], value: float) -> None:
    assert measure(result, Measurement(metric="delay_s", **keys)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        ({"metric": "sent_bytes", "subject": "b->c"}, 250),
        ({"metric": "link_bytes", "subject": "b->c"}, 100 + 150 + 30 + 50),
        ({"metric": "link_rate", "to_s": 2}, 125),
        ({"metric": "sent_bytes", "aggregate": "last"}, 80),
        ({"metric": "sent_bytes", "aggregate": "first", "from_s": 1}, 100),
        ({"metric": "sent_bytes", "aggregate": "mean", "from_s": 3}, 55),
        ({"metric": "sent_bytes", "aggregate": "increase", "node": "b"}, 330),
        ({"metric": "sent_bytes", "aggregate": "count", "to_s": 2}, 3),
        ({"metric": "queue_bytes", "node": "c"}, 40),
        ({"metric": "queue_bytes", "aggregate": "min", "node": "b"}, 20),
        ({"metric": "queue_bytes", "aggregate": "p50", "subject": "b->c"}, 500),
        ({"metric": "queue_bytes", "aggregate": "last"}, 60),
        ({"metric": "queue_bytes", "aggregate": "last_at_s"}, 4.5),
        ({"metric": "queue_bytes", "aggregate": "last_at_s", "from_s": 1, "to_s": 3}, 3),
        ({"metric": "sent_bytes", "aggregate": "jain"}, 1),
        ({"metric": "sent_bytes", "aggregate": "variation"}, 0),
        (
            {
                "metric": "queue_bytes",
                "aggregate": "until_at_most_s",
                "threshold": 50,
                "node": "b",
                "from_s": 1,
            },
            1,
        ),
        (
            {
                "metric": "queue_bytes",
                "aggregate": "until_at_least_s",
                "threshold": 30,
                "node": "c",
            },
            3.5,
        ),
    ],
)
def test_telemetry(result: RunResult, keys: dict[str, Any], value: float) -> None:
    assert measure(result, Measurement(**keys)) == pytest.approx(value)


def test_series_that_are_measured_in_turn_must_be_right_together(result: RunResult) -> None:
    """At 2 s the first queue is short, but the second is as it was at 1.5 s."""
    below = Measurement(metric="queue_bytes", aggregate="until_at_most_s", threshold=50)
    assert measure(result, below) == 2
    shorter = msgspec.structs.replace(below, threshold=15)
    assert measure(result, shorter) == math.inf


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"metric": "sent"}, "metric 'sent' was not recorded.*sent_bytes"),
        ({"metric": "sent_bytes", "subject": "b->d"}, "for subject 'b->d'"),
        ({"metric": "sent_bytes", "node": "d"}, "at node 'd'"),
        ({"metric": "sent_bytes", "from_s": 15}, "in this interval"),
        ({"metric": "delay_s", "from_s": 15}, "in this interval"),
        ({"metric": "delivered", "aggregate": "last_at_s", "from_s": 15}, "in this interval"),
        ({"metric": "delivered", "subject": "nobody"}, "'nobody'"),
        ({"metric": "acknowledged", "subject": "s0"}, "no client of 's0' measures 'acknowledged'"),
    ],
)
def test_a_missing_measurement_is_an_error(
    result: RunResult, keys: dict[str, Any], told: str
) -> None:
    with pytest.raises(NothingMeasured, match=told):
        measure(result, Measurement(**keys))


def test_what_came_while_the_run_was_closed_counts_without_a_window(result: RunResult) -> None:
    ended = msgspec.structs.replace(result, ended_at=at(9.9))
    assert measure(ended, Measurement(metric="submitted")) == 100
    assert measure(ended, Measurement(metric="delivered", subject="s0")) == 100
    assert measure(ended, Measurement(metric="submitted", to_s=9.9)) == 99


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


UNTIL: tuple[tuple[Aggregate, float], ...] = (("until_at_most_s", 5), ("until_at_least_s", 5))


@pytest.mark.parametrize(("aggregate", "threshold"), UNTIL)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 20), st.integers(0, 10)), min_size=1),
        min_size=1,
        max_size=3,
    )
)
def test_until_is_the_first_instant_at_which_all_last_values_are_right(
    aggregate: Aggregate, threshold: float, drawn: list[list[tuple[int, int]]]
) -> None:
    most = aggregate == "until_at_most_s"
    series: list[list[Point]] = [
        [(second * SECOND, float(value)) for second, value in sorted(dict(points).items())]
        for points in drawn
    ]
    expected = math.inf
    for second in sorted({point for points in drawn for point, _ in points}):
        known = [[value for when, value in each if when <= second * SECOND] for each in series]
        if all(known) and all(
            values[-1] <= threshold if most else values[-1] >= threshold for values in known
        ):
            expected = float(second)
            break
    assert aggregated(aggregate, series, 0, threshold) == expected


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_jains_index_lies_between_a_single_winner_and_equality(values: list[float]) -> None:
    assert 1 / len(values) - 1e-9 <= jain(values) <= 1 + 1e-9


def test_the_extremes_of_fairness() -> None:
    assert jain([5, 5, 5]) == pytest.approx(1)
    assert jain([5, 0, 0]) == pytest.approx(1 / 3)
    assert jain([0, 0]) == 1
    assert variation([5, 5, 5]) == 0
    assert variation([0, 10]) == 1
    assert variation([0, 0]) == 0


def test_expectations_are_judged(result: RunResult) -> None:
    expectations = (
        Expectation(metric="delivered", at_least=150),
        Expectation(metric="delivered", at_most=99, why="too many"),
        Expectation(metric="delivered", divided_by=Measurement(metric="submitted"), at_least=1),
        Expectation(metric="unknown", at_most=1),
        Expectation(metric="delivered_rate", subject="s", from_s=1, to_s=2, at_least=9, at_most=11),
        Expectation(metric="delivered", divided_by=Measurement(metric="unsettled"), at_least=1),
        Expectation(metric="violations", name="kept promises", at_most=0),
        Expectation(
            metric="queue_bytes",
            aggregate="until_at_most_s",
            threshold=50,
            node="b",
            at_most=2,
        ),
    )
    scenario = msgspec.structs.replace(SCENARIO, expect=expectations)
    verdicts = judge_expectations(msgspec.structs.replace(result, scenario=scenario))
    held = [verdict.held for verdict in verdicts]
    assert held == [True, False, True, False, True, False, False, True]
    assert verdicts[1].problem == "too many"
    assert verdicts[2].what == "delivered / submitted"
    assert verdicts[2].value == 1.5
    assert "was not recorded" in verdicts[3].problem
    assert verdicts[4].what == "delivered_rate of s, 1 s to 2 s"
    assert verdicts[4].bound == "9 … 11"
    assert verdicts[5].problem == "unsettled is 0"
    assert (verdicts[6].what, verdicts[6].bound) == ("kept promises", "≤ 0")
    assert verdicts[7].what == "until_at_most_s queue_bytes (50) at b"

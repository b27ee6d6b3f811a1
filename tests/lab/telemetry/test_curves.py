"""Curves over the seconds of a run, from telemetry and from a history."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.core.clock import SECOND, seconds
from penstock.core.trace import TraceRecord
from penstock.lab.oracle.guaranteed.history import GuaranteedHistory, SubscriberHistory
from penstock.lab.result import RunResult
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.curves import How, curve, mean_between
from penstock.lab.telemetry.measure import NothingMeasured
from penstock.lab.telemetry.telemetry import Telemetry

BEGAN = 1_000 * SECOND

SCENARIO = parse_scenario(
    {
        "name": "curves",
        "duration_s": 4,
        "brokers": [{"name": "b", "pubends": 1}],
        "clients": [
            {"service": "guaranteed", "role": "subscriber", "name": name, "broker": "b"}
            for name in ("s1", "s2")
        ],
    }
)


def result_of(
    records: Sequence[tuple[float, str, str, float]] = (),
    received: dict[str, list[float]] | None = None,
) -> RunResult:
    """A run of four seconds with these records of the metric ``queue_bytes`` and deliveries."""
    telemetry = Telemetry()
    for at_s, node, subject, value in records:
        telemetry.add(TraceRecord(BEGAN + seconds(at_s), node, subject, "queue_bytes", value))
    history = GuaranteedHistory()
    for name, times in (received or {}).items():
        seen = SubscriberHistory(name, "b", "", from_earliest=False, identified=False)
        seen.received_at.extend(BEGAN + seconds(each) for each in times)
        seen.ticks.extend(BEGAN + seconds(each - 0.25) for each in times)
        history.add_subscriber(seen)
    return RunResult(
        SCENARIO,
        "sim",
        1,
        BEGAN,
        BEGAN + 4 * SECOND,
        {"guaranteed": history},
        {},
        telemetry,
    )


QUEUE = Measurement(metric="queue_bytes")
DELIVERED = Measurement(metric="delivered")


def test_a_counters_rate_is_its_increase_over_the_time_between_records() -> None:
    records = [(0, "a", "x", 10.0), (1, "a", "x", 30.0), (3, "a", "x", 70.0), (4, "a", "x", 5.0)]

    found = curve(result_of(records), QUEUE, "rate")

    assert found == ((1.0, 20.0), (3.0, 20.0), (4.0, 5.0)), "a restarted counter counts from zero"


def test_the_rates_of_all_subjects_add_up() -> None:
    records = [(at, "a", name, 10.0 * at) for name in ("x", "y") for at in range(3)]

    assert curve(result_of(records), QUEUE, "rate") == ((1.0, 20.0), (2.0, 20.0))
    only = Measurement(metric="queue_bytes", subject="x")
    assert curve(result_of(records), only, "rate") == ((1.0, 10.0), (2.0, 10.0))


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("max", ((0.0, 8.0), (2.0, 4.0))),
        ("mean", ((0.0, 4.0), (2.0, 4.0))),
        ("sum", ((0.0, 7.0), (2.0, 4.0))),
        ("value", ((0.0, 1.0), (0.5, 8.0), (1.5, 3.0), (1.5, 4.0), (2.0, 4.0))),
    ],
)
def test_values_of_all_nodes_are_reduced_in_each_step(
    how: How, expected: tuple[tuple[float, float], ...]
) -> None:
    # Node a records 8 and then 4, node b 1 and then 3; "sum" adds the last value of each.
    records = [
        (0.5, "a", "x", 8.0),
        (1.5, "a", "x", 4.0),
        (0.0, "b", "x", 1.0),
        (1.5, "b", "x", 3.0),
        (2.0, "b", "x", 4.0),
    ]
    assert curve(result_of(records), QUEUE, how, step_s=2.0) == expected


def test_the_rate_of_a_history_counts_events_in_every_step() -> None:
    result = result_of(received={"s1": [0.0, 0.5, 2.25], "s2": [2.0]})

    assert curve(result, DELIVERED, "rate") == ((0.0, 2.0), (1.0, 0.0), (2.0, 2.0), (3.0, 0.0))
    one = Measurement(metric="delivered", subject="s2")
    assert curve(result, one, "sum", step_s=2.0) == ((0.0, 0.0), (2.0, 1.0))
    assert curve(result, DELIVERED, "rate", step_s=2.0) == ((0.0, 1.0), (2.0, 1.0))


def test_samples_of_a_history_are_reduced() -> None:
    result = result_of(received={"s1": [0.5, 0.75], "s2": [3.0]})
    delay = Measurement(metric="delay_s")

    assert curve(result, delay, "mean") == ((0.0, 0.25), (3.0, 0.25))
    assert len(curve(result, delay, "value")) == 3


def test_a_window_cuts_a_curve() -> None:
    window = Measurement(metric="delivered", from_s=2, to_s=3)
    assert curve(result_of(received={"s1": [0.0, 2.25]}), window, "rate") == ((2.0, 1.0),)
    records = [(float(at), "a", "x", float(at)) for at in range(5)]
    queued = Measurement(metric="queue_bytes", from_s=1, to_s=3)
    assert curve(result_of(records), queued, "max") == ((1.0, 1.0), (2.0, 2.0))


def test_what_was_not_recorded_is_empty_and_an_unknown_client_is_an_error() -> None:
    for how in ("rate", "max", "sum", "value"):
        assert curve(result_of(), QUEUE, how) == ()  # type: ignore[arg-type]
    with pytest.raises(NothingMeasured, match="no client of 's9'"):
        curve(result_of(received={"s1": []}), Measurement(metric="delivered", subject="s9"), "rate")


def test_the_mean_of_a_curve_between_two_seconds() -> None:
    assert mean_between(((0.0, 2.0), (1.0, 4.0), (2.0, 100.0)), 0, 2) == 3.0
    assert mean_between((), 0, 2) == 0.0

"""Datagram publishers and subscribers in the simulated world, with brokers between them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.oracle.datagram.history import DatagramHistory
from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.sim import SimRun

NARROW_BYTES_PER_S = 28_000
"""A hundred messages of 280 bytes a second."""


def simulated(
    *faults: dict[str, Any],
    duration_s: float = 4.0,
    rate_msgs_per_s: Any = 100.0,
    bandwidth_bytes_per_s: int = 0,
    selector: str = "kind = 'a'",
    publisher: dict[str, Any] | None = None,
    subscriber: dict[str, Any] | None = None,
    seed: int = 1,
    **parameters: Any,
) -> RunResult:
    """One publisher of two kinds of messages, and one subscriber behind a link."""
    scenario = parse_scenario(
        {
            "name": "pair",
            "duration_s": duration_s,
            "trace_interval_s": 0.5,
            "parameters": {"datagram": parameters},
            "brokers": [{"name": "near"}, {"name": "far"}],
            "links": [
                {
                    "between": ["near", "far"],
                    "bandwidth_bytes_per_s": bandwidth_bytes_per_s,
                    "datagram_bytes": 280,
                }
            ],
            "clients": [
                {
                    "service": "datagram",
                    "role": "subscriber",
                    "name": "s",
                    "broker": "far",
                    "selector": selector,
                    **(subscriber or {}),
                },
                {
                    "service": "datagram",
                    "role": "publisher",
                    "name": "p",
                    "broker": "near",
                    "rate_msgs_per_s": rate_msgs_per_s,
                    "attributes": {"kind": "share:0.5,a,b"},
                    **(publisher or {}),
                },
            ],
            "faults": list(faults),
        }
    )
    result = run(SimRun(scenario, seed, checked=True))
    assert result.judgement.violations == 0, result.judgement.examples
    return result


def totals(result: RunResult) -> dict[str, int]:
    return {metric: count for _, metric, count in result.histories["datagram"].totals()}


def history_of(result: RunResult) -> DatagramHistory:
    history = result.histories["datagram"]
    assert isinstance(history, DatagramHistory)
    return history


def test_everything_that_is_wanted_arrives_over_a_wide_link() -> None:
    result = simulated()
    counted = totals(result)
    assert counted["submitted"] == counted["sent"] == 300, "the first second is for settling"
    assert counted["wanted"] == counted["delivered"]
    assert 100 < counted["delivered"] < 200
    assert counted["lost"] == counted["refused"] == counted["given_up"] == 0
    delays = history_of(result).events("delay_s")["s"].values
    assert 0.001 < delays.min() <= delays.max() < 0.01


def test_without_control_a_narrow_link_loses_messages() -> None:
    counted = totals(
        simulated(rate_msgs_per_s=600.0, bandwidth_bytes_per_s=NARROW_BYTES_PER_S, law="none")
    )
    assert counted["refused"] == 0
    assert counted["lost"] == counted["wanted"] - counted["delivered"] > 200


def test_with_control_the_publisher_refuses_messages_instead() -> None:
    result = simulated(
        duration_s=10.0, rate_msgs_per_s=600.0, bandwidth_bytes_per_s=NARROW_BYTES_PER_S
    )
    counted = totals(result)
    assert counted["refused"] > 500
    assert counted["lost"] < 0.1 * counted["wanted"]
    assert counted["submitted"] == counted["sent"] + counted["refused"]
    assert history_of(result).pending == 0


def test_publishers_record_flows_reports_and_what_waits() -> None:
    result = simulated(
        duration_s=10.0, rate_msgs_per_s=600.0, bandwidth_bytes_per_s=NARROW_BYTES_PER_S
    )

    def measured(metric: str, aggregate: Any) -> float:
        return measure(result, Measurement(metric=metric, node="p", aggregate=aggregate))

    assert measured("flows", "max") == 1
    assert measured("feedback_messages", "increase") > 10
    assert measured("waiting_messages", "max") > 10
    series = result.telemetry.series("flows", node="p")["p", "datagram"]
    assert [result.second(at) for at, _ in series[:4]] == [0.5, 1.0, 1.5, 2.0]


def test_the_rate_follows_its_curve() -> None:
    curve = [[0.0, 100.0], [2.0, 100.0], [2.001, 400.0]]
    result = simulated(duration_s=4.0, rate_msgs_per_s=curve)
    for from_s, to_s, rate in ((1.0, 2.0, 100.0), (2.1, 4.0, 400.0)):
        sent = Measurement(metric="sent", from_s=from_s, to_s=to_s, aggregate="rate")
        assert measure(result, sent) == pytest.approx(rate, rel=0.02)


def test_what_is_published_while_the_subscriber_is_away_is_not_wanted() -> None:
    whole = totals(simulated(seed=3))
    result = simulated({"at_s": 2.0, "leave": "s"}, {"at_s": 3.0, "come_back": "s"}, seed=3)
    counted = totals(result)
    assert 0.5 < counted["wanted"] / whole["wanted"] < 0.8
    assert counted["lost"] <= 2, "what was under way when it left"


def test_a_publisher_that_is_away_publishes_nothing_and_gives_up_what_waited() -> None:
    result = simulated(
        {"at_s": 6.0, "leave": "p"},
        {"at_s": 8.0, "come_back": "p"},
        duration_s=10.0,
        rate_msgs_per_s=600.0,
        bandwidth_bytes_per_s=NARROW_BYTES_PER_S,
    )
    submitted = Measurement(metric="submitted", from_s=6.1, to_s=8.0)
    assert measure(result, submitted) == 0
    assert totals(result)["given_up"] > 0
    assert measure(result, Measurement(metric="sent", from_s=8.5)) > 0


def test_a_publisher_that_stops_sends_what_still_waits() -> None:
    result = simulated(
        duration_s=10.0,
        rate_msgs_per_s=600.0,
        bandwidth_bytes_per_s=NARROW_BYTES_PER_S,
        publisher={"stop_s": 6.0},
    )
    assert measure(result, Measurement(metric="submitted", from_s=6.0)) == 0
    assert measure(result, Measurement(metric="sent", from_s=6.0)) > 10


def test_a_subscriber_that_stops_wants_nothing_more() -> None:
    result = simulated(subscriber={"stop_s": 2.0})
    wanted = history_of(result).events("wanted")["s"].at
    assert result.second(int(wanted.max())) < 2.0


def test_a_run_depends_on_its_seed_alone() -> None:
    narrow: dict[str, Any] = {"rate_msgs_per_s": 300.0, "bandwidth_bytes_per_s": NARROW_BYTES_PER_S}
    once, again, other = (history_of(simulated(seed=seed, **narrow)) for seed in (1, 1, 2))
    assert once.subscribers["s"].received_at == again.subscribers["s"].received_at
    assert once.subscribers["s"].received_at != other.subscribers["s"].received_at

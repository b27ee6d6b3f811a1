"""Datagram publishers and subscribers in the network world, with broker processes."""

from __future__ import annotations

from typing import Any

from penstock.lab.result import RunResult
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Measurement
from penstock.lab.telemetry.measure import measure
from penstock.lab.worlds.net import NetRun


def live(*faults: dict[str, Any], bandwidth_bytes_per_s: int = 0, **parameters: Any) -> RunResult:
    """One publisher of two kinds of messages, and a subscriber of each."""
    subscriber = {"service": "datagram", "role": "subscriber", "broker": "far"}
    scenario = parse_scenario(
        {
            "name": "pair",
            "duration_s": 6.0,
            "trace_interval_s": 0.2,
            "parameters": {"datagram": parameters},
            "brokers": [{"name": "near"}, {"name": "far"}],
            "links": [{"between": ["near", "far"], "bandwidth_bytes_per_s": bandwidth_bytes_per_s}],
            "clients": [
                {**subscriber, "name": "s", "selector": "kind = 'a'"},
                {**subscriber, "name": "t", "selector": "kind = 'b'", "broker": "near"},
                {
                    "service": "datagram",
                    "role": "publisher",
                    "name": "p",
                    "broker": "near",
                    "rate_msgs_per_s": 400.0,
                    "attributes": {"kind": "share:0.5,a,b"},
                    "message_bytes": 280,
                },
            ],
            "faults": list(faults),
        }
    )
    result = run(NetRun(scenario, 1))
    assert result.judgement.violations == 0, result.judgement.examples
    return result


def totals(result: RunResult) -> dict[tuple[str, str], int]:
    return {(name, metric): count for name, metric, count in result.histories["datagram"].totals()}


def test_messages_arrive_and_the_publisher_records_its_state() -> None:
    result = live()
    counted = totals(result)
    assert counted["s", "delivered"] > 0
    assert counted["t", "delivered"] > 0
    assert counted["p", "submitted"] == counted["p", "sent"] + counted["p", "refused"]
    for name in "st":
        assert counted[name, "wanted"] == counted[name, "delivered"] + counted[name, "lost"]
    assert measure(result, Measurement(metric="flows", node="p", aggregate="count")) > 0


def test_messages_of_a_narrow_link_wait_and_are_refused() -> None:
    result = live(bandwidth_bytes_per_s=15_000)
    counted = totals(result)
    assert counted["p", "refused"] > 0
    assert measure(result, Measurement(metric="waiting_messages", node="p")) > 0
    assert result.histories["datagram"].pending == 0, "what waited left before the end"
    assert counted["t", "lost"] == 0, "only the flow across the link is slowed"


def test_clients_leave_and_come_back() -> None:
    result = live(
        {"at_s": 2.0, "leave": "s"},
        {"at_s": 2.5, "come_back": "s"},
        {"at_s": 3.0, "leave": "p"},
        {"at_s": 3.5, "come_back": "p"},
    )
    history = result.histories["datagram"]
    received = history.events("delivered")["s"].at
    times = [result.second(int(at)) for at in received]
    assert any(at < 2.0 for at in times)
    assert any(at > 3.5 for at in times)


def test_clients_outlast_a_crash_of_their_broker() -> None:
    result = live({"at_s": 2.0, "crash": "near"}, {"at_s": 2.5, "restart": "near"})
    sent = Measurement(metric="sent", from_s=3.0)
    assert measure(result, sent) > 0
    assert measure(result, Measurement(metric="delivered", subject="t", from_s=3.0)) > 0

"""The guaranteed service in the laboratory: its pubends, its histories, and its clients' pace."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lab.oracle.guaranteed.history import GuaranteedHistory
from penstock.lab.run import run
from penstock.lab.scenario.file import parse_scenario
from penstock.lab.scenario.model import Scenario
from penstock.lab.scenario.numbering import expanded
from penstock.lab.service import lab_services
from penstock.lab.workloads.guaranteed.service import (
    all_pubends_of,
    source_spec,
    subscriber_history,
)
from penstock.lab.worlds.sim import SimRun

SUBSCRIBER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "subscriber",
    "name": "s",
    "broker": "sb",
}
PUBLISHER: dict[str, Any] = {
    "service": "guaranteed",
    "role": "publisher",
    "name": "p",
    "broker": "pb",
    "rate_msgs_per_s": 50,
}


def scenario(*clients: dict[str, Any], **changes: Any) -> Scenario:
    return expanded(
        parse_scenario(
            {
                "name": "row",
                "duration_s": 5,
                "brokers": [{"name": "pb", "pubends": 2}, {"name": "sb"}],
                "links": [{"between": ["pb", "sb"]}],
                "clients": list(clients) or [SUBSCRIBER, PUBLISHER],
                **changes,
            }
        )
    )


def history_of(plan: Scenario) -> GuaranteedHistory:
    result = run(SimRun(plan, 1, checked=True))
    assert result.judgement.violations == 0, result.judgement.examples
    history = result.histories["guaranteed"]
    assert isinstance(history, GuaranteedHistory)
    return history


def test_the_pubends_of_a_broker_are_those_of_all_its_configurations() -> None:
    faults = [
        {"at_s": 1, "reconfigure": {"broker": "pb", "pubends": 3}},
        {"at_s": 2, "reconfigure": {"broker": "sb", "pubends": ["late"]}},
        {"at_s": 3, "reconfigure": {"broker": "pb", "guaranteed": {"answer_bytes": 900}}},
    ]
    plan = scenario(faults=faults)
    assert all_pubends_of(plan, "pb") == ("pb.1", "pb.2", "pb.3")
    assert all_pubends_of(plan, "sb") == ("late",)
    assert all_pubends_of(scenario(), "sb") == ()


def test_a_publisher_without_a_pubend_leaves_the_choice_to_the_broker() -> None:
    plan = scenario()
    assert source_spec(plan, plan.clients[1]).pubend == ""
    only = scenario(brokers=[{"name": "pb", "pubends": 1}, {"name": "sb"}])
    assert source_spec(only, only.clients[1]).pubend == "pb.1"


@pytest.mark.parametrize(
    ("subscriber", "parameters", "from_earliest"),
    [
        ({}, {}, False),
        ({"start": "earliest"}, {}, True),
        ({"start": "earliest"}, {"retain_bytes": 1000}, False),
        ({"start": "earliest"}, {"retain_for_ns": 1000}, False),
    ],
)
def test_the_earliest_message_is_due_unless_logs_are_trimmed(
    subscriber: dict[str, Any], parameters: dict[str, Any], from_earliest: bool
) -> None:
    plan = scenario({**SUBSCRIBER, **subscriber}, parameters={"guaranteed": parameters})
    assert subscriber_history(plan, plan.clients[0]).from_earliest is from_earliest


def test_messages_are_identified_by_payload_unless_a_publisher_says_tick() -> None:
    fast = {**PUBLISHER, "name": "q", "pubend": "pb.1", "identity": "tick"}
    by_payload, by_tick = scenario(), scenario(SUBSCRIBER, PUBLISHER, fast)
    assert subscriber_history(by_payload, by_payload.clients[0]).identified
    assert not subscriber_history(by_tick, by_tick.clients[0]).identified


def test_a_stopped_subscriber_is_due_nothing_and_a_publisher_is_not_asked() -> None:
    lab, plan = lab_services()["guaranteed"], scenario()
    history = GuaranteedHistory()
    received = history.add_subscriber(subscriber_history(plan, plan.clients[0]))
    lab.stopped(plan.clients[0], history, 7)
    lab.stopped(plan.clients[1], history, 8)
    assert received.left_at == 7


def test_damage_is_kept_by_pubend() -> None:
    lab, history = lab_services()["guaranteed"], GuaranteedHistory()
    lab.damaged(history, "pb.1", (10, 12))
    assert history.damaged["pb.1"].covers(10, 12)


def test_a_number_of_messages_is_the_most_that_is_published() -> None:
    history = history_of(scenario(SUBSCRIBER, {**PUBLISHER, "messages": 30, "batch_rows": 8}))
    assert len(history.publishers["p"]) == len(history.subscribers["s"]) == 30


def test_a_pause_in_the_rate_is_a_pause_in_the_messages() -> None:
    rate = [[0, 50], [1, 50], [1.001, 0], [3, 0], [3.001, 50]]
    publisher = history_of(scenario(SUBSCRIBER, {**PUBLISHER, "rate_msgs_per_s": rate})).publishers
    seconds = [at / 1e9 - 1_700_000_000 for at in publisher["p"].submitted_at]
    assert not [at_s for at_s in seconds if 1.01 < at_s < 3]
    assert len(seconds) == pytest.approx(150, abs=3)


def test_a_publisher_without_a_rate_has_so_many_messages_in_flight() -> None:
    fast = {**PUBLISHER, "rate_msgs_per_s": 0, "max_in_flight": 4, "pubend": "pb.1", "stop_s": 1}
    history = history_of(scenario(SUBSCRIBER, fast))
    publisher = history.publishers["p"]
    changes = [(at, 1) for at in publisher.submitted_at] + [(at, -1) for at in publisher.settled_at]
    in_flight = most = 0
    for _, change in sorted(changes):
        in_flight += change
        most = max(most, in_flight)
    assert most == 4
    assert len(publisher) > 1000


def test_two_publishers_of_one_name_lose_nothing() -> None:
    again = {**PUBLISHER, "name": "again", "producer": "p", "start_s": 2}
    history = history_of(scenario(SUBSCRIBER, PUBLISHER, again))
    assert len(history.publishers["again"]) == pytest.approx(150, abs=2)
    assert history.pending == 0


def test_a_slow_reader_reads_at_its_pace() -> None:
    slow = {**SUBSCRIBER, "read_msgs_per_s": 20}
    history = history_of(scenario(slow, PUBLISHER, drain_s=60))
    received = history.subscribers["s"]
    took_s = (received.received_at[-1] - received.received_at[0]) / 1e9
    assert len(received) / took_s == pytest.approx(20, rel=0.1)

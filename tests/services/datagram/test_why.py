"""A publisher explains its flows: the slowest first, with every number."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from penstock.core.clock import SECOND
from penstock.services.datagram.messages import DecidedBy
from penstock.services.datagram.parameters import DatagramParameters, Law
from penstock.services.datagram.publisher.control import PublishingControl
from penstock.services.datagram.why import DECISIONS, NOT_CONGESTED, RULES, explain

from .conftest import NOW, PUBLISHER, SUBSCRIBER, feedback


def publisher(law: Law = "paper") -> PublishingControl:
    return PublishingControl(PUBLISHER, DatagramParameters(law=law), now=NOW)


def test_a_publisher_without_flows_is_not_throttled() -> None:
    told = explain(publisher(), NOW)
    assert (told.service, told.publisher, told.flows) == ("datagram", PUBLISHER, ())
    assert not told.throttled


def test_flows_are_listed_with_their_limiting_receiver_the_slowest_first() -> None:
    control = publisher()
    control.feedback(feedback("kind = 'a'", 20.0), NOW)
    control.feedback(feedback("kind = 'b'", 2.0, filter_id=2), NOW)
    for token in range(5):
        control.offer(token, {"kind": "b"}, b"", NOW)
    told = explain(control, NOW + SECOND)
    slow, quick = told.flows
    assert (slow.selector, slow.quota_msgs_per_s, slow.limiting_receiver) == (
        "kind = 'b'",
        2.0,
        SUBSCRIBER,
    )
    assert slow.waiting_messages > 0
    assert told.throttled
    assert quick.quota_msgs_per_s == 20.0
    assert (quick.loss_event_rate, quick.round_trip_s) == (0.01, 0.1)
    assert quick.reception_msgs_per_s == 100.0
    assert (quick.controlled_for_s, quick.last_report_s_ago) == (1.0, 1.0)


@pytest.mark.parametrize("law", get_args(Law))
def test_the_law_is_a_code_and_its_rule_a_sentence(law: Law) -> None:
    told = explain(publisher(law), NOW)
    assert told.law == law
    assert told.rule == (RULES[law] if law == "none" else NOT_CONGESTED)


@pytest.mark.parametrize("code", DecidedBy)
def test_a_flow_names_the_rule_of_its_latest_decision(code: DecidedBy) -> None:
    control = publisher("improved")
    report = feedback("kind = 'a'", 20.0)
    control.feedback(msgspec.structs.replace(report, decided_by=code), NOW)
    (flow,) = explain(control, NOW).flows
    assert flow.decided_by == code.name.lower()
    assert flow.decided_by in DECISIONS

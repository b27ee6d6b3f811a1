"""A session for each publisher, and the datagrams that they send."""

from __future__ import annotations

from penstock.content.codec.size import encoded_size
from penstock.content.selectors.parser import parse
from penstock.core.clock import MILLISECOND, SECOND
from penstock.services.datagram.messages import EchoReply, EchoRequest, Feedback, FlowTag
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.subscriber.control import SubscribingControl
from penstock.services.datagram.subscriber.session import SILENT_NS

from ..conftest import NOW, PUBLISHER, SUBSCRIBER, publication


def control(law: str = "paper") -> SubscribingControl:
    parameters = DatagramParameters(law=law)  # type: ignore[arg-type]
    made = SubscribingControl(SUBSCRIBER, parameters)
    made.add_filter(1, parse("kind = 'wanted'"))
    return made


def test_only_what_a_filter_selects_is_wanted() -> None:
    made = control()
    assert made.received([publication(1)], NOW) == [(1,)]
    assert made.received([publication(2, attributes={"kind": "other"})], NOW) == [()]


def test_a_new_publisher_is_asked_for_an_echo_again_and_again() -> None:
    made = control()
    made.received([publication(1)], NOW)
    assert made.due(NOW) == [EchoRequest(PUBLISHER, SUBSCRIBER, NOW)]
    again = made.next_deadline()
    assert again is not None
    assert made.due(again) == [EchoRequest(PUBLISHER, SUBSCRIBER, again)]


def test_a_limiting_receiver_reports() -> None:
    made = control()
    made.received([publication(1)], NOW)
    made.due(NOW)
    made.echoed(EchoReply(SUBSCRIBER, PUBLISHER, NOW, NOW), NOW + 20 * MILLISECOND)
    for step in range(1, 40):
        now = NOW + (20 + step) * MILLISECOND
        flows = (FlowTag(SUBSCRIBER, 1, step, 10 * MILLISECOND),)
        made.received([publication(1 + step, sent_at=now, flows=flows)], now)
    (report,) = made.due(NOW + SECOND)
    assert isinstance(report, Feedback)
    assert (report.to, report.sender) == (PUBLISHER, SUBSCRIBER)
    assert [each.selector for each in report.requests] == ["kind = 'wanted'"]


def test_reports_fit_datagrams() -> None:
    made = SubscribingControl(SUBSCRIBER, DatagramParameters(law="paper"))
    for number in range(1, 41):
        made.add_filter(number, parse(f"kind = 'wanted' AND n <> {number} AND s <> '{'x' * 100}'"))
    flows = tuple(FlowTag(SUBSCRIBER, number, 1, 0) for number in range(1, 41))
    row = {"kind": "wanted", "n": 100, "s": "y"}
    made.received([publication(1, attributes=row)], NOW)
    made.due(NOW)
    made.echoed(EchoReply(SUBSCRIBER, PUBLISHER, NOW, NOW), NOW + MILLISECOND)
    made.received([publication(2, flows=flows, attributes=row, sent_at=NOW)], NOW + MILLISECOND)
    reports = made.due(NOW + SECOND // 2)
    asked = [each.filter_id for report in reports if isinstance(report, Feedback)
             for each in report.requests]  # fmt: skip
    assert asked == list(range(1, 41))
    assert len(reports) > 1
    assert all(encoded_size(report) <= 1400 for report in reports)


def test_a_silent_publisher_is_forgotten() -> None:
    made = control()
    made.received([publication(1)], NOW)
    made.due(NOW + SILENT_NS)
    assert not made.sessions
    assert made.next_deadline() is None


def test_a_publisher_that_was_started_anew_begins_a_new_session() -> None:
    made = control()
    made.received([publication(90, incarnation=1)], NOW)
    made.received([publication(1, incarnation=2)], NOW)
    assert made.sessions[PUBLISHER].incarnation == 2
    made.received([publication(91, incarnation=1)], NOW)
    assert made.sessions[PUBLISHER].received_messages == 1


def test_without_control_there_are_no_sessions() -> None:
    made = control(law="none")
    assert made.received([publication(1)], NOW) == [(1,)]
    assert not made.sessions


def test_a_filter_that_is_gone_matches_nothing() -> None:
    made = control()
    made.remove_filter(1)
    made.remove_filter(1)
    assert made.received([publication(1)], NOW) == [()]


def test_an_answer_of_a_stranger_changes_nothing() -> None:
    made = control()
    made.echoed(EchoReply(SUBSCRIBER, "stranger@far", NOW, NOW), NOW)
    assert not made.sessions

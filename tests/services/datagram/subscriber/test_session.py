"""Algorithm 1: rates, losses, quotas and reports of one session."""

from __future__ import annotations

import pytest

from penstock.content.bloom.encoding import encode_filter, encode_message
from penstock.content.selectors.parser import parse
from penstock.core.clock import MILLISECOND, SECOND, Instant
from penstock.services.datagram.laws.equation import allowed_rate
from penstock.services.datagram.messages import DecidedBy, FlowTag
from penstock.services.datagram.parameters import DatagramParameters
from penstock.services.datagram.selectors import hash_of
from penstock.services.datagram.subscriber.publication_record import write_record
from penstock.services.datagram.subscriber.session import Filter, SubscriberSession

from ..conftest import NOW, SUBSCRIBER, publication


def filter_of(number: int, selector: str, priority: float = 1.0) -> Filter:
    parsed = parse(selector)
    return Filter(number, parsed, encode_filter(parsed), priority, hash_of(parsed))


ONE = {1: filter_of(1, "kind = 'wanted'")}
TWO = {1: filter_of(1, "kind = 'a'", 1.0), 2: filter_of(2, "kind = 'b'", 3.0)}


def session(law: str = "paper", detection: str = "flow") -> SubscriberSession:
    """A session whose round trip is known to be 100 ms."""
    parameters = DatagramParameters(law=law, detection=detection)  # type: ignore[arg-type]
    made = SubscriberSession(SUBSCRIBER, 1, parameters, NOW)
    answered_at = NOW - SECOND + 100 * MILLISECOND
    made.round_trip.asked(NOW - SECOND)
    made.round_trip.echoed(NOW - SECOND, answered_at, answered_at)
    return made


def tag(sequence: int, filter_id: int = 1) -> tuple[FlowTag, ...]:
    return (FlowTag(SUBSCRIBER, filter_id, sequence, 100 * MILLISECOND),)


def receive(
    made: SubscriberSession,
    sequences: range | list[int],
    *,
    tagged: bool = False,
    begin: Instant = NOW,
    filters: dict[int, Filter] = ONE,
) -> Instant:
    """Messages 10 ms apart; returns when the last one came."""
    now = begin
    for sequence in sequences:
        now += 10 * MILLISECOND
        flows = tag(sequence) if tagged else ()
        made.received([(publication(sequence, sent_at=now, flows=flows), [1])], filters, now)
    return now


def test_without_losses_nothing_is_asked() -> None:
    made = session()
    now = receive(made, range(1, 60))
    assert made.decide(ONE, now) == ()


def test_a_gap_in_the_flows_numbers_is_a_loss() -> None:
    made = session()
    receive(made, [1, 2, 3, 6, 7], tagged=True)
    assert (made.lost_messages, made.losses.events) == (2, 1)


def test_numbers_of_a_flow_that_is_set_up_anew_are_no_loss() -> None:
    made = session()
    now = receive(made, [50, 51], tagged=True)
    receive(made, [1, 2, 3], tagged=True, begin=now)
    assert made.lost_messages == 0


def test_a_record_shows_the_loss_of_an_uncontrolled_flow() -> None:
    made = session(detection="record")
    record = write_record([encode_message({"kind": "wanted"})])
    made.received([(publication(1, sent_at=NOW), [1])], ONE, NOW)
    made.received([(publication(3, sent_at=NOW, record=record), [1])], ONE, NOW)
    assert made.lost_messages == 1


def test_records_alone_do_not_look_at_flow_numbers() -> None:
    made = session(detection="record")
    receive(made, [1, 2, 30], tagged=True)
    assert made.lost_messages == 0


def test_after_a_loss_the_equation_limits_what_is_received() -> None:
    made = session()
    now = receive(made, [*range(1, 40), *range(45, 80)], tagged=True)
    for start in (100, 150, 200, 250, 300):
        now = receive(made, range(start, start + 20), tagged=True, begin=now)
    (request,) = made.decide(ONE, now)
    trip = made.round_trip.smoothed_ns
    assert trip is not None
    assert request.quota_msgs_per_s == pytest.approx(allowed_rate(made.loss_event_rate, trip))
    assert request.quota_msgs_per_s < request.reception_msgs_per_s


def test_a_limiting_receiver_asks_for_at_most_half_as_much_again() -> None:
    made = session()
    now = receive(made, range(1, 60), tagged=True)
    (request,) = made.decide(ONE, now)
    assert request.quota_msgs_per_s == pytest.approx(1.5 * request.reception_msgs_per_s)


def test_the_improved_law_gives_way_to_a_standing_queue() -> None:
    made = session(law="improved")
    now = receive(made, range(1, 30))
    for sequence in range(30, 60):
        now += 10 * MILLISECOND
        late = publication(sequence, sent_at=now - 150 * MILLISECOND)
        made.received([(late, [1])], ONE, now)
    (request,) = made.decide(ONE, now)
    assert request.quota_msgs_per_s < request.reception_msgs_per_s
    assert made.decided_by is DecidedBy.DELAY
    assert made.lost_messages == 0


def test_what_is_scarce_is_divided_by_priority() -> None:
    made = session()
    now = NOW
    for sequence in range(1, 400):
        now += 10 * MILLISECOND
        number = 1 + sequence % 2
        # Every tenth message of each flow is lost.
        flows = tag(sequence + sequence // 10, number)
        made.received([(publication(sequence, sent_at=now, flows=flows), [number])], TWO, now)
    quotas = {each.filter_id: each.quota_msgs_per_s for each in made.decide(TWO, now)}
    assert quotas[2] == pytest.approx(3 * quotas[1])


def test_a_decision_is_due_once_in_a_round_trip_and_only_if_something_came() -> None:
    made = session()
    assert made.decision_due_at() is None
    now = receive(made, [1])
    due = made.decision_due_at()
    assert due is not None
    made.decide(ONE, due)
    assert made.decision_due_at() is None
    receive(made, [2], begin=now)
    again = made.decision_due_at()
    trip = made.round_trip.smoothed_ns
    assert again is not None
    assert trip is not None
    assert again - due >= 50 * MILLISECOND


def test_the_improved_law_asks_for_numbers_before_it_knows_the_round_trip() -> None:
    made = SubscriberSession("s@far", 0, DatagramParameters(law="improved"), NOW)
    now = receive(made, range(1, 8))
    assert made.decision_due_at() is not None
    (request,) = made.decide(ONE, now)
    assert request.quota_msgs_per_s >= 2 * request.reception_msgs_per_s


RANGE = {1: filter_of(1, "turn < 4")}


def of_another(sequence: int, selector: str) -> tuple[FlowTag, ...]:
    """The tag of a flow that another receiver limits."""
    return (FlowTag("other@far", 9, sequence, 0, hash_of(parse(selector))),)


def receive_of_another(made: SubscriberSession, numbers: list[int], selector: str) -> Instant:
    now = NOW
    for number in numbers:
        now += 10 * MILLISECOND
        # Three messages in four are not wanted, and all of them are in the record.
        record = write_record([encode_message({"turn": 7})] * 2)
        flows = of_another(number, selector)
        sent = publication(4 * number, sent_at=now, flows=flows, record=record)
        made.received([(sent, [1])], RANGE, now)
    return now


def test_numbers_serve_every_receiver_of_the_selector() -> None:
    made = session()
    receive_of_another(made, [1, 2, 5, 6], "turn < 4")
    assert made.lost_messages == 2


def test_unwanted_messages_are_no_losses_of_a_range() -> None:
    made = session()
    receive_of_another(made, [1, 2, 3, 4], "turn < 5")
    assert made.lost_messages == 0


@pytest.mark.parametrize("law", ["paper", "improved"])
def test_a_range_asks_for_numbers_until_its_flow_has_some(law: str) -> None:
    made = session(law=law)
    now = receive_of_another(made, [1, 2, 3, 4], "turn < 5")
    (request,) = made.decide(RANGE, now)
    assert request.quota_msgs_per_s >= 2 * request.reception_msgs_per_s
    numbered = session(law="paper")
    now = receive_of_another(numbered, [1, 2, 3, 4], "turn < 4")
    assert numbered.decide(RANGE, now) == ()


def test_a_range_asks_for_numbers_once_in_a_second() -> None:
    made = session()
    now = receive_of_another(made, [1, 2, 3, 4], "turn < 5")
    assert made.decide(RANGE, now) != ()
    assert made.decide(RANGE, now + SECOND - 1) == ()
    assert made.decide(RANGE, now + SECOND) != ()


def reports_of(law: str, gap_ns: int) -> int:
    """How many of forty decisions of a limiting receiver on an empty link are reported."""
    made, now, number, reports = session(law=law), NOW, 0, 0
    for _ in range(40):
        for _ in range(5):
            now += gap_ns
            number += 1
            sent = publication(number, sent_at=now, flows=tag(number))
            made.received([(sent, [1])], ONE, now)
        reports += bool(made.decide(ONE, now))
    return reports


def test_a_report_without_news_is_left_out() -> None:
    assert reports_of("paper", 10 * MILLISECOND) == 40
    assert reports_of("improved", 10 * MILLISECOND) <= 20


def test_a_limiting_receiver_reports_before_its_flow_becomes_stale() -> None:
    assert reports_of("improved", 100 * MILLISECOND) == 40

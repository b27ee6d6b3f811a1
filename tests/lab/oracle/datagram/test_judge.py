"""The judge of the datagram service: every rule can be broken, and losses break none."""

from __future__ import annotations

import pytest

from penstock.content.rows.columns import AttributeValue
from penstock.core.clock import SECOND, Instant
from penstock.lab.oracle.datagram.history import DatagramHistory
from penstock.lab.oracle.datagram.judge import NOTED, RULES
from penstock.lab.oracle.datagram.participants import PublisherHistory, SubscriberHistory
from penstock.lab.oracle.judgement import Judgement
from penstock.lab.workloads.message_source import IDENTITY

STRANGER = 99


class NumberedSource:
    """Even messages are of kind a, odd ones of kind b."""

    producer_hash = 7

    def attributes(self, number: int) -> dict[str, AttributeValue]:
        return {"kind": "ab"[number % 2]}

    def payload(self, number: int) -> bytes:
        return IDENTITY.pack(self.producer_hash, number)


class Case:
    """A publisher that has sent six messages, one a second, and a subscriber of kind a."""

    def __init__(self, *, single_path: bool = True) -> None:
        self.history = DatagramHistory(single_path=single_path)
        self.source = NumberedSource()
        self.publisher = self.history.add_publisher(PublisherHistory("p", self.source))
        self.subscriber = self.history.add_subscriber(SubscriberHistory("s", "kind = 'a'"))
        self.subscriber.in_force(0)
        for number in range(6):
            self.publisher.submitted(self.sent_at(number))
            self.publisher.sent(number, self.sent_at(number))

    @staticmethod
    def sent_at(number: int) -> Instant:
        return (number + 1) * SECOND

    def receive(self, *numbers: int) -> None:
        for number in numbers:
            self.subscriber.received(
                self.source.attributes(number),
                self.source.payload(number),
                self.sent_at(number),
                10 * SECOND,
            )

    def judged(self) -> Judgement:
        return self.history.judge()


@pytest.fixture
def case() -> Case:
    return Case()


def broken(judgement: Judgement) -> dict[str, int]:
    return {rule: count for rule, count in judgement.broken.items() if count}


def test_a_complete_history_breaks_no_rule(case: Case) -> None:
    case.receive(0, 2, 4)
    judgement = case.judged()
    assert judgement.broken == dict.fromkeys(RULES, 0)
    assert judgement.noted == dict.fromkeys(NOTED, 0)
    assert judgement.examples == []


def test_a_loss_is_noted_and_breaks_no_rule(case: Case) -> None:
    case.receive(0, 4)
    judgement = case.judged()
    assert judgement.violations == 0
    assert judgement.noted["lost"] == 1


def test_a_message_that_comes_three_times_is_two_too_many(case: Case) -> None:
    case.receive(0, 0, 0, 2)
    judgement = case.judged()
    assert broken(judgement) == {"duplicated": 2}
    assert "message 0 of p 3 times" in judgement.examples[0]


def test_a_message_after_one_that_was_sent_later_is_out_of_order(case: Case) -> None:
    case.receive(4, 0, 2)
    assert broken(case.judged()) == {"out_of_order": 2}


def test_on_several_paths_messages_may_overtake_each_other() -> None:
    case = Case(single_path=False)
    case.receive(4, 0, 2)
    judgement = case.judged()
    assert judgement.violations == 0
    assert judgement.noted["overtaken"] == 2


def test_a_message_that_does_not_match_is_unwanted(case: Case) -> None:
    case.receive(0, 1, 2, 3, 5)
    judgement = case.judged()
    assert broken(judgement) == {"unwanted": 3}
    assert "does not match" in judgement.examples[0]


def test_a_refused_message_is_unwanted(case: Case) -> None:
    number = case.publisher.submitted(7 * SECOND)
    case.publisher.refused(number)
    case.receive(number)
    judgement = case.judged()
    assert broken(judgement) == {"unwanted": 1}
    assert "refused" in judgement.examples[0]


def test_a_message_that_was_given_up_may_arrive_or_not(case: Case) -> None:
    first, second = (case.publisher.submitted(7 * SECOND) for _ in range(2))
    for number in (first, second):
        case.publisher.given_up(number)
    case.receive(0, 2, 4, first)
    judgement = case.judged()
    assert judgement.violations == 0
    assert judgement.noted["lost"] == 0


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        IDENTITY.pack(STRANGER, 0),
        IDENTITY.pack(NumberedSource.producer_hash, 6),
        IDENTITY.pack(NumberedSource.producer_hash, 2**64 - 1),
    ],
    ids=["without identity", "of a stranger", "with a number too high", "with no number"],
)
def test_a_message_that_nobody_published_is_unwanted(case: Case, payload: bytes) -> None:
    case.subscriber.received({"kind": "a"}, payload, SECOND, 2 * SECOND)
    assert broken(case.judged()) == {"unwanted": 1}


def test_other_attributes_or_another_payload_are_corrupted(case: Case) -> None:
    payload = case.source.payload(0)
    case.subscriber.received({"kind": "a", "more": 1}, payload, SECOND, 2 * SECOND)
    case.subscriber.received({"kind": "a"}, case.source.payload(2) + b".", 3 * SECOND, 4 * SECOND)
    assert broken(case.judged()) == {"corrupted": 2}

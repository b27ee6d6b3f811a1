"""Tests of the judge: each rule is broken on purpose, and only that one is reported."""

from collections.abc import Callable
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.lab.oracle.guaranteed.history import (
    GuaranteedHistory,
    Outcome,
    PublisherHistory,
    SubscriberHistory,
)
from penstock.lab.oracle.guaranteed.judge import RULES, judge
from penstock.lab.workloads.message_source import Identity, MessageSource, SourceSpec

MESSAGES = 6


class Told:
    """A publisher with six acknowledged messages at the ticks 10 to 15, and one subscriber."""

    def __init__(
        self, selector: str = "", *, from_earliest: bool = False, identity: Identity = "payload"
    ) -> None:
        spec = SourceSpec("p", "b.1", {"n": "number:"}, identity=identity)
        self.history = GuaranteedHistory()
        self.publisher = self.history.add_publisher(PublisherHistory("p", MessageSource(spec, 1)))
        self.subscriber = self.history.add_subscriber(
            SubscriberHistory(
                "s", "b", selector, from_earliest=from_earliest, identified=identity == "payload"
            )
        )
        self.publisher.submitted(MESSAGES, 5)
        self.publisher.acknowledged(0, MESSAGES, 10, 6)

    def receive(self, *numbers: int, tick: int | None = None) -> None:
        for number in numbers:
            at = 10 + number if tick is None else tick
            frame = Frame(at, at + 1, range(at, at + 1), self.publisher.source.batch(number, 1))
            self.subscriber.received("b.1", frame, 20)

    def judged(self) -> dict[str, int]:
        judgement = judge(self.history)
        assert tuple(judgement.broken) == RULES
        counts = judgement.broken | judgement.noted
        return {name: count for name, count in counts.items() if count}


def test_a_good_history_breaks_no_rule() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(*range(MESSAGES))
    assert told.judged() == {}


def test_a_missing_message_is_lost() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0, 1, 3, 4, 5)
    assert told.judged() == {"lost": 1}
    assert judge(told.history).examples == [
        "s never received message 2 of p, acknowledged at tick 12"
    ]


def test_a_missing_end_is_lost_and_may_be_unfinished() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0, 2)
    assert told.judged() == {"lost": 4, "unfinished": 3}


def test_messages_from_before_the_subscription_are_not_lost() -> None:
    told = Told()
    told.subscriber.in_force(6)
    told.receive(3, 4, 5)
    assert told.judged() == {}


def test_messages_from_before_a_subscription_to_the_earliest_are_lost() -> None:
    told = Told(from_earliest=True)
    told.subscriber.in_force(6)
    told.receive(3, 4, 5)
    assert told.judged() == {"lost": 3}


def test_a_subscriber_that_left_may_miss_the_end() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.subscriber.left_at = 21
    told.receive(0, 1)
    assert told.judged() == {}


def test_a_repeated_message_is_also_out_of_order() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0, 1, 1, 2, 3, 4, 5)
    assert told.judged() == {"duplicated": 1, "out_of_order": 1}


def test_a_late_message_is_out_of_order_for_publisher_and_pubend() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0, 2, 1, 3, 4, 5)
    assert told.judged() == {"out_of_order": 2}


def test_a_refused_message_must_not_be_received() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.publisher.failed(2, 1, Outcome.REFUSED, "full", 7)
    told.receive(*range(MESSAGES))
    assert told.judged() == {"unwanted": 1}


def test_a_refused_message_is_not_lost() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.publisher.failed(2, 1, Outcome.REFUSED, "full", 7)
    told.receive(0, 1, 3, 4, 5)
    assert told.judged() == {}


def test_a_message_that_does_not_match_the_selector_is_unwanted() -> None:
    told = Told("n > 2")
    told.subscriber.in_force(1)
    told.receive(2, 3, 4, 5)
    assert told.judged() == {"unwanted": 1}


def test_an_unpublished_message_is_unwanted() -> None:
    told = Told()
    batch = Batch.from_rows([({}, b"who are you?, unknown")])
    told.subscriber.received("b.1", Frame(1, 2, range(1, 2), batch), 20)
    assert told.judged() == {"unwanted": 1}


def test_different_content_is_corrupted() -> None:
    told = Told()
    told.subscriber.in_force(1)
    attributes, payload = told.publisher.source.row(0)
    changed = Batch.from_rows([(attributes, bytes(payload)[:-1] + b"!")])
    told.subscriber.received("b.1", Frame(10, 11, range(10, 11), changed), 20)
    told.receive(1, 2, 3, 4, 5)
    assert told.judged() == {"corrupted": 1}


def test_a_tick_that_differs_from_the_receipt_is_misplaced() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0, tick=9)
    told.receive(1, 2, 3, 4, 5)
    assert told.judged() == {"misplaced": 1}


def test_an_announced_loss_excuses_a_message_without_a_tick_that_may_lie_in_it() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.publisher.ticks[2] = told.publisher.ticks[4] = 0
    told.receive(0, 1, 3, 5)
    told.subscriber.received("b.1", Frame(12, 13, final=True), 20)
    assert told.judged() == {"announced_lost": 1, "lost": 1}, "message 4 lies behind 13"


def test_a_message_with_an_uncertain_outcome_may_be_received_or_not() -> None:
    for received in ((0, 1, 2, 3, 4, 5), (0, 1, 3, 4, 5)):
        told = Told()
        told.publisher.failed(2, 1, Outcome.UNCERTAIN, "the sync failed", 6)
        told.publisher.ticks[2] = 0
        told.receive(*received)
        assert told.judged() == {}
    told = Told()
    told.publisher.failed(2, 1, Outcome.UNCERTAIN, "the sync failed", 6)
    told.publisher.ticks[2] = 0
    told.receive(0, 1, 2, 2, 3, 4, 5)
    assert "duplicated" in told.judged(), "at most once"


def test_an_announced_loss_excuses_its_interval() -> None:
    told = Told()
    told.subscriber.in_force(1)
    told.receive(0)
    told.subscriber.received("b.1", Frame(11, 13, final=True), 20)
    told.receive(3, 4, 5)
    assert told.judged() == {"announced_lost": 1}


@pytest.mark.parametrize(
    ("deliver", "expected"),
    [
        (lambda told: told.receive(*range(MESSAGES)), {}),
        (lambda told: told.receive(0, 1, 2, 4, 5), {"lost": 1}),
    ],
)
def test_messages_can_be_identified_by_tick(
    deliver: Callable[[Told], None], expected: dict[str, int]
) -> None:
    told = Told(identity="tick")
    told.subscriber.in_force(1)
    deliver(told)
    assert told.judged() == expected


def test_a_subscription_that_was_never_in_force_has_no_claims() -> None:
    assert Told().judged() == {}


@given(
    received=st.lists(st.integers(0, MESSAGES - 1), max_size=8),
    selector=st.sampled_from(["", "n < 4", "n = 99"]),
    from_earliest=st.booleans(),
    in_force_at=st.sampled_from([None, 1, 5, 6]),
    left_at=st.sampled_from([None, 30]),
    refused=st.sets(st.integers(0, MESSAGES - 1), max_size=2),
    loss=st.sampled_from([None, (10, 12), (13, 14)]),
)
def test_screening_changes_no_judgement(
    received: list[int],
    selector: str,
    from_earliest: bool,
    in_force_at: int | None,
    left_at: int | None,
    refused: set[int],
    loss: tuple[int, int] | None,
) -> None:
    told = Told(selector, from_earliest=from_earliest, identity="tick")
    if in_force_at is not None:
        told.subscriber.in_force(in_force_at)
    told.receive(*received)
    told.subscriber.left_at = left_at
    for number in refused:
        told.publisher.failed(number, 1, Outcome.REFUSED, "no", 7)
    if loss is not None:
        told.subscriber.announced_losses.append(("b.1", *loss))

    screened = told.judged()
    with patch("penstock.lab.oracle.guaranteed.judge.is_spotless", return_value=False):
        assert told.judged() == screened


def test_a_durable_subscription_may_lose_only_damaged_messages() -> None:
    for damaged, expected in ((12, 0), (13, 1)):
        told = Told()
        told.subscriber.durable = True
        told.subscriber.in_force(1)
        told.subscriber.in_force_on = frozenset({"b.1"})
        told.history.damage("b.1", damaged, damaged + 1)
        told.receive(0, 1, 3, 4, 5)
        told.subscriber.received("b.1", Frame(12, 13, final=True), 20)
        assert told.judged().get("let_go", 0) == expected

"""Every rule of the queues' judge: broken by hand, and kept by a clean history."""

from __future__ import annotations

import pytest

from penstock.content.rows.batch import Batch
from penstock.content.rows.frame import Frame
from penstock.lab.oracle.queues.history import METRICS, QueuesHistory
from penstock.lab.oracle.queues.judge import NOTED, RULES
from penstock.lab.oracle.queues.records import ConsumerHistory, Outcome, ProducerHistory
from penstock.lab.workloads.message_source import MessageSource, SourceSpec
from penstock.services.queues.messages import Deliver

HERE, THERE = "work@east", "work@west"


class Story:
    """A history that a test writes by hand; time advances by one with every act."""

    def __init__(self, queues: tuple[str, ...] = (HERE,), *, in_order: bool = True) -> None:
        self.producer = ProducerHistory("p", frozenset(queues), in_order=in_order)
        spec = SourceSpec("p", "orders", {"kind": "cycle:0..2"}, payload_bytes=40)
        self.producer.source = MessageSource(spec, 1)
        self.consumers: dict[str, ConsumerHistory] = {}
        self.now = 0

    def tick(self) -> int:
        self.now += 1
        return self.now

    def rows(self, *numbers: int) -> Batch:
        assert self.producer.source is not None
        return Batch.from_rows([self.producer.source.row(number) for number in numbers])

    def send(self, count: int, outcome: Outcome = Outcome.CONFIRMED) -> None:
        first = len(self.producer)
        self.producer.submitted(self.rows(*range(first, first + count)), self.tick())
        self.producer.settled(first, count, outcome, self.tick(), "")

    def consumer(
        self, name: str, queue: str = HERE, selector: str = "", *, stays: bool = True
    ) -> ConsumerHistory:
        made = self.consumers[name] = ConsumerHistory(name, queue, selector, stays=stays)
        return made

    def receive(
        self, consumer: ConsumerHistory, *numbers: int, again: bool = False, confirm: bool = True
    ) -> None:
        """The consumer is given messages, finishes them and hears that this is durable."""
        place = self.give(consumer, self.rows(*numbers), again=again)
        consumer.consumed(place, len(numbers), self.tick())
        if confirm:
            consumer.confirmed(place, len(numbers), self.tick())

    def give(self, consumer: ConsumerHistory, batch: Batch, *, again: bool = False) -> int:
        frame = Frame(1, 1 + len(batch), range(1, 1 + len(batch)), batch)
        return consumer.received(Deliver(consumer.name, frame, recovered=again), self.tick())

    @property
    def history(self) -> QueuesHistory:
        return QueuesHistory({"p": self.producer}, self.consumers)

    def broken(self) -> dict[str, int]:
        """The rules that were broken, with their counts."""
        return {rule: count for rule, count in self.history.judge().broken.items() if count}


def test_a_clean_history_breaks_no_rule() -> None:
    story = Story()
    story.send(10)
    story.send(2, Outcome.REFUSED)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0, 1, 2, 5)
    story.receive(two, 3, 4, 6, 7)
    story.receive(one, 8, 9)
    judgement = story.history.judge()
    assert judgement.violations == 0
    assert set(judgement.broken) == set(RULES)
    assert judgement.noted == dict.fromkeys(NOTED, 0)
    assert story.history.complete()


def test_a_run_without_consumers_and_producers_breaks_no_rule() -> None:
    assert QueuesHistory({}, {}).judge().violations == 0
    assert QueuesHistory({}, {}).complete()


# -- rule 1 ------------------------------------------------------------------------------------


def test_a_confirmed_message_that_nobody_consumed_is_lost() -> None:
    story = Story()
    story.send(3)
    story.receive(story.consumer("one"), 0, 2)
    assert story.broken() == {"lost": 1}
    assert not story.history.complete()
    assert "message 1 of p was confirmed" in story.history.judge().examples[0]


def test_a_message_that_was_given_and_never_finished_is_lost() -> None:
    story = Story()
    story.send(1)
    one = story.consumer("one")
    story.give(one, story.rows(0))
    assert story.broken() == {"lost": 1}


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.UNCERTAIN])
def test_what_was_not_confirmed_is_not_lost(outcome: Outcome) -> None:
    story = Story()
    story.send(3, outcome)
    story.consumer("one")
    assert story.broken() == {}
    assert story.history.complete()


def test_messages_stay_in_a_queue_that_has_no_consumer_until_the_end() -> None:
    story = Story()
    story.send(3)
    one = story.consumer("one", stays=False)
    story.receive(one, 0)
    assert story.broken() == {}
    assert story.history.judge()["left_in_queues"] == 2
    assert story.history.complete()


def test_messages_stay_in_one_of_several_queues_if_only_the_others_have_consumers() -> None:
    story = Story((HERE, THERE), in_order=False)
    story.send(3)
    story.receive(story.consumer("one"), 0, 1)
    assert story.broken() == {}
    story.consumer("two", THERE)
    assert story.broken() == {"lost": 1}


def test_messages_that_no_consumer_selects_stay() -> None:
    story = Story()
    story.send(4)
    story.receive(story.consumer("one", selector="kind = 0"), 0)
    assert story.broken() == {"lost": 1}
    assert story.history.judge()["left_in_queues"] == 2
    story.consumer("other", selector="kind = 1")
    assert story.broken() == {"lost": 3}


def test_messages_that_a_lasting_fault_holds_up_are_not_lost() -> None:
    story = Story()
    story.producer.held_up = True
    story.send(3)
    story.consumer("one")
    assert story.broken() == {}
    assert story.history.judge()["left_in_queues"] == 3


# -- rule 2 ------------------------------------------------------------------------------------


def test_a_message_that_comes_again_after_its_confirmation_is_duplicated() -> None:
    story = Story()
    story.send(1)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0)
    story.receive(two, 0, again=True)
    assert story.broken() == {"duplicated": 1}


def test_a_message_that_comes_again_without_a_mark_is_duplicated() -> None:
    story = Story()
    story.send(1)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0, confirm=False)
    story.receive(two, 0)
    assert story.broken() == {"duplicated": 1}


def test_a_message_in_two_queues_is_duplicated_even_with_a_mark() -> None:
    story = Story((HERE, THERE), in_order=False)
    story.send(1)
    story.receive(story.consumer("one"), 0, confirm=False)
    story.receive(story.consumer("two", THERE), 0, again=True)
    assert story.broken() == {"duplicated": 1}


def test_a_marked_redelivery_is_noted() -> None:
    story = Story()
    story.send(2)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0, 1, confirm=False)
    story.receive(two, 0, 1, again=True)
    assert story.broken() == {}
    assert story.history.judge()["redelivered"] == 2


def test_a_message_that_a_consumer_gave_back_may_come_again_without_a_mark() -> None:
    story = Story()
    story.send(1)
    one, two = story.consumer("one"), story.consumer("two")
    story.give(one, story.rows(0))
    one.closed(story.tick())
    story.receive(two, 0)
    assert story.broken() == {}
    assert story.history.judge()["redelivered"] == 1


def test_only_the_rows_that_a_delivery_lists_are_marked() -> None:
    story = Story()
    story.send(2)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0, 1, confirm=False)
    frame = Frame(1, 3, range(1, 3), story.rows(0, 1))
    place = two.received(Deliver("two", frame, attempts=((1, 0),)), story.tick())
    two.consumed(place, 2, story.tick())
    assert story.broken() == {"duplicated": 1}
    assert story.history.judge()["redelivered"] == 1


# -- rule 3 ------------------------------------------------------------------------------------


def test_a_refused_message_is_unwanted() -> None:
    story = Story()
    story.send(1, Outcome.REFUSED)
    story.receive(story.consumer("one"), 0)
    assert story.broken() == {"unwanted": 1}


def test_a_message_with_an_uncertain_outcome_may_be_received() -> None:
    story = Story()
    story.send(1, Outcome.UNCERTAIN)
    story.receive(story.consumer("one"), 0)
    assert story.broken() == {}


def test_a_message_that_was_never_sent_is_unwanted() -> None:
    story = Story()
    story.send(1)
    one = story.consumer("one")
    story.receive(one, 0, 1)
    story.give(one, Batch.from_rows([({}, b"short"), ({}, b"x" * 40)]))
    assert story.broken() == {"unwanted": 3}


def test_a_message_from_another_queue_is_unwanted() -> None:
    story = Story()
    story.send(1)
    story.consumer("one", stays=False)
    story.receive(story.consumer("two", THERE), 0)
    assert story.broken() == {"unwanted": 1}


def test_a_message_that_the_consumer_did_not_select_is_unwanted() -> None:
    story = Story()
    story.send(2)
    story.receive(story.consumer("one", selector="kind = 0"), 0, 1)
    assert story.broken() == {"unwanted": 1}


# -- rule 4 ------------------------------------------------------------------------------------


def test_a_message_with_different_content_is_corrupted() -> None:
    story = Story()
    story.send(2)
    (attributes, payload), (_, other) = (story.producer.source.row(n) for n in range(2))
    changed = Batch.from_rows([(attributes, bytes(payload) + b"!"), (attributes, other)])
    one = story.consumer("one")
    one.consumed(story.give(one, changed), 2, story.tick())
    assert story.broken() == {"corrupted": 2}


def test_the_attributes_of_a_dead_letter_are_no_corruption() -> None:
    story = Story()
    story.send(1)
    story.receive(story.consumer("one"), 0, confirm=False)
    attributes, payload = story.producer.source.row(0)
    letter = {**attributes, "dead_letter_queue": "work", "dead_letter_reason": "rejected"}
    undertaker = story.consumer("undertaker", "dead-letters@east")
    story.give(undertaker, Batch.from_rows([(letter, payload)]))
    assert story.broken() == {}
    assert story.history.judge()["dead_letters"] == 1


# -- rule 5 ------------------------------------------------------------------------------------


def test_a_later_message_before_an_earlier_one_is_out_of_order() -> None:
    story = Story()
    story.send(3)
    one = story.consumer("one")
    story.receive(one, 1)
    story.receive(one, 0)
    story.receive(one, 2)
    assert story.broken() == {"out_of_order": 1}


def test_order_is_not_promised_through_an_alias_queue() -> None:
    story = Story(in_order=False)
    story.send(2)
    one = story.consumer("one")
    story.receive(one, 1)
    story.receive(one, 0)
    assert story.broken() == {}


def test_a_redelivered_message_may_come_late() -> None:
    story = Story()
    story.send(2)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(one, 0, confirm=False)
    story.receive(two, 1)
    story.receive(two, 0, again=True)
    assert story.broken() == {}


def test_what_a_closed_consumer_only_prefetched_may_come_late() -> None:
    story = Story()
    story.send(2)
    one, two = story.consumer("one"), story.consumer("two")
    story.receive(two, 1)
    one.closed(story.tick())
    story.receive(two, 0)
    assert story.broken() == {}
    story.send(2)
    story.receive(two, 3)
    story.receive(two, 2)
    assert story.broken() == {"out_of_order": 1}


def test_every_rule_and_note_is_a_metric() -> None:
    assert {*RULES, *NOTED} == {name for name, each in METRICS.items() if each.kind == "rule"}

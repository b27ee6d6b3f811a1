"""The destination's half of the forwarding transaction."""

from __future__ import annotations

import pytest

from penstock.content.rows.frame import Frame
from penstock.core.clock import SECOND
from penstock.core.machine import Persist, PersistFailed
from penstock.services.queues.log.append import Appender
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.settlements import Settlements
from penstock.services.queues.messages import (
    Decision,
    Forward,
    ForwardRefused,
    HandedOver,
    HandOver,
    Resolved,
    Stored,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.consumers import Consumers
from penstock.services.queues.queue.dead_letters import DeadLetters
from penstock.services.queues.queue.forwarded import HALF_WITHIN_NS, ForwardedRows
from penstock.services.queues.queue.rows import QueueRows
from penstock.services.queues.queue.senders import AliasSender, HandoverSender

NOW = 1000 * SECOND
PARAMETERS = QueueParameters()


class Desk:
    """Forwarded rows of one queue, and a store that answers when it is told to."""

    def __init__(self, make_journal, make_batch):
        self.journal, self.make_batch = make_journal(), make_batch
        self.appender = Appender(self.journal)
        entries = Entries(1 << 20)
        self.settlements = Settlements(self.journal, 5, PARAMETERS.piggyback_ns)
        config = QueueConfig("work", dead_letter_queue="")
        letters = DeadLetters(config, entries, self.settlements, 5)
        self.rows = QueueRows(config, entries, Consumers(), self.settlements, letters)
        self.forwarded = ForwardedRows(
            "east", "work", self.journal, self.appender, self.rows, self.settlements, PARAMETERS
        )
        self.out = []

    def forward(self, low, count, *, under_way=0, problem="", floor=0):
        frame = Frame(low, low + count, range(low, low + count), self.make_batch(count, low))
        message = Forward("home", "east", "orders", "work", floor, frame, 4, 0, under_way)
        self.forwarded.store(message, problem, self.out)

    def sync(self, failure=None, now=NOW):
        """The store answers; returns what is said then."""
        orders = [each for each in self.out if isinstance(each, Persist)]
        said, self.out = [each for each in self.out if not isinstance(each, Persist)], []
        for order in orders:
            stored = self.appender.resolved(order.token, failure)
            if stored is not None:
                self.rows.arrived(stored)
        for answer in self.appender.answers():
            handler = {
                AliasSender: self.forwarded.answer,
                HandoverSender: self.forwarded.answer_handover,
            }[type(answer.sender)]
            handler(answer.sender, answer, now, said)
        return [each.message for each in said]

    def decide(self, committed=(), withdrawn=()):
        out = []
        message = Decision("home", "east", "orders", "work", committed, withdrawn)
        return self.forwarded.decide(message, NOW, out), [each.message for each in out]


@pytest.fixture
def desk(make_journal, make_batch):
    return Desk(make_journal, make_batch)


def test_a_single_row_is_asked_about_when_it_is_durable(desk):
    desk.forward(70, 1, under_way=1)
    assert desk.sync() == [Stored("east", "home", "orders", "work", ((70, 71),))]
    assert desk.rows.prepared.rows == 1


def test_one_question_is_under_way_and_the_next_waits_for_half(desk):
    desk.forward(70, 1, under_way=1)
    desk.sync()
    desk.forward(71, 1, under_way=5)
    assert desk.sync() == []
    count, said = desk.decide(committed=((70, 71),))
    assert (count, said) == (1, []), "one row of five is not half"
    assert desk.forwarded.next_deadline() == NOW + HALF_WITHIN_NS
    desk.forward(72, 2, under_way=5)
    assert desk.sync() == [Stored("east", "home", "orders", "work", ((71, 74),))]


def test_a_question_does_not_wait_for_its_half_for_long(desk):
    desk.forward(70, 1, under_way=9)
    assert desk.sync() == []
    out = []
    desk.forwarded.deadline(NOW + HALF_WITHIN_NS, out)
    assert [each.message for each in out] == [Stored("east", "home", "orders", "work", ((70, 71),))]


def test_a_question_is_repeated_until_it_is_answered(desk):
    desk.forward(70, 2, under_way=2)
    desk.sync()
    out = []
    desk.forwarded.deadline(NOW + PARAMETERS.repeat_ns, out)
    assert [each.message.intervals for each in out] == [((70, 72),)]
    desk.decide(committed=((70, 71),), withdrawn=((71, 72),))
    out = []
    desk.forwarded.ask_all(NOW, out)
    assert out == []


def test_a_repeat_below_the_floor_is_not_stored_again(desk):
    desk.forward(70, 2, under_way=2, floor=72)
    assert not any(isinstance(each, Persist) for each in desk.out)
    assert desk.sync() == []


@pytest.mark.parametrize("where", ["queue", "disk"])
def test_a_refusal_names_the_rows_and_the_reason(desk, where):
    desk.forward(70, 2, problem="full" if where == "queue" else "")
    said = desk.sync(PersistFailed(0, "full"))
    assert said == [ForwardRefused("east", "home", "orders", "work", ((70, 72),), "full")]


def test_a_decision_is_confirmed_with_the_next_question(desk):
    desk.forward(70, 2, under_way=2)
    desk.sync()
    assert desk.decide(committed=((70, 71),), withdrawn=((71, 72),))[0] == 1
    out = []
    desk.settlements.flush(out)
    desk.settlements.resolved(out[0].token, None, NOW, [])
    desk.forwarded.collect_durable(NOW)
    desk.forward(80, 1, under_way=1)
    (question,) = desk.sync()
    assert (question.intervals, question.resolved) == (((80, 81),), ((70, 72),))


def test_a_decision_is_confirmed_alone_after_a_while(desk):
    desk.forward(70, 1, under_way=1)
    desk.sync()
    desk.decide(withdrawn=((70, 71),))
    out = []
    desk.settlements.flush(out)
    desk.settlements.resolved(out[0].token, None, NOW, [])
    desk.forwarded.collect_durable(NOW)
    said = []
    desk.forwarded.deadline(NOW + PARAMETERS.piggyback_ns, said)
    assert [each.message for each in said] == [
        Resolved("east", "home", "orders", "work", ((70, 71),))
    ]


def test_rows_handed_over_are_ready_and_answered(desk):
    message = HandOver("orders", "work", 7, desk.make_batch(2), 4, 0, "producer/p", 40)
    desk.forwarded.store_handover(message, "", desk.out)
    (order,) = desk.out
    assert (order.frame.producer, order.frame.producer_sequence) == ("producer/p", 40)
    assert desk.sync() == [HandedOver("orders", "work", 7, 2)]
    assert desk.rows.ready.count == 2
    desk.forwarded.store_handover(message, "full", desk.out)
    assert desk.sync() == [HandedOver("orders", "work", 7, 2, "full")]

"""What a queue accepts from clients."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.core.machine import LogRead, Persist, PersistFailed
from penstock.core.tokens import Tokens
from penstock.mechanisms.sequence_table import MOST_INTERVALS
from penstock.services.queues.admission import AdmissionRequest, QueueAdmission, objection
from penstock.services.queues.context import QueueContext
from penstock.services.queues.log.append import Appender
from penstock.services.queues.log.entries import Entries
from penstock.services.queues.log.journal import Journal
from penstock.services.queues.messages import OpenSender, SenderOpened, SendRefused, SendToQueue
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.queue.senders import ClientSender

NOW = 1000 * SECOND
SENDER = ClientSender("s", "p", "work")


class Desk:
    """The admission of one queue; the owner says that it has no consumers."""

    def __init__(self, *, ready=True, submit_limit_bytes=1 << 20, **config):
        logs = {} if ready else {"queue/work": (1, 5, 100)}
        context = QueueContext("b", QueueParameters(), Tokens(), {}, logs, NOW)
        self.journal, self.entries = Journal("queue/work", context), Entries(1 << 20)
        self.out = []
        self.journal.start(self.out)
        self.appender = Appender(self.journal)
        self.admission = QueueAdmission(
            "b",
            QueueConfig("work", **config),
            submit_limit_bytes,
            self.journal,
            self.entries,
            self.appender,
            self,
        )

    def explain(self, now):
        return "it has no consumers"

    def store(self, message):
        answer, entries = self.appender.admit(
            SENDER, SENDER.origin, message.first_sequence, message.batch, priority=4
        )
        for entry in entries:
            self.appender.append(entry, answer, self.out)

    def open(self, instance, *, resumes=False):
        out = []
        message = OpenSender("p", "work", instance, resumes)
        self.admission.open_sender(SENDER, message, out)
        return out


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"priority": 10}, "priority 10 is not one of 0 to 9"),
        ({"time_to_live_ns": -1}, "a time to live of -1 ns"),
        ({"first_sequence": 2**62}, "sequence number"),
        ({"producer": "p" * 513}, "longer than 512"),
        ({"count": 0}, "there are no messages to send"),
        ({}, ""),
    ],
)
def test_an_invalid_request_is_named(make_batch, fields, problem):
    batch = make_batch(fields.pop("count", 1))
    message = SendToQueue(
        fields.pop("producer", "p"), "work", fields.pop("first_sequence", 0), batch, **fields
    )
    assert problem in objection(message)
    assert bool(objection(message)) == bool(problem)


def test_a_full_queue_says_which_limit_it_has_reached_and_why(make_batch):
    desk = Desk(depth_limit_messages=3)
    assert desk.admission.no_room(3, 100, NOW) == ""
    problem = desk.admission.no_room(4, 100, NOW)
    assert "'work' is full (depth_limit_messages)" in problem
    assert problem.endswith("it has no consumers")
    assert "depth_limit_bytes" in Desk(depth_limit_bytes=99).admission.no_room(1, 100, NOW)


def test_a_disk_that_does_not_keep_up_is_named(make_batch):
    desk = Desk(submit_limit_bytes=10)
    desk.store(SendToQueue("p", "work", 0, make_batch(5)))
    assert "disk does not keep up" in desk.admission.no_room(1, 1, NOW)


def test_a_repeat_is_accepted_by_a_full_queue(make_batch):
    desk = Desk(depth_limit_messages=1)
    message = SendToQueue("p", "work", 0, make_batch(2))
    assert "is full" in desk.admission.refusal(SENDER, message, NOW)
    desk.store(message)
    assert desk.admission.refusal(SENDER, message, NOW) == ""


def test_numbers_below_forgotten_gaps_are_refused(make_batch):
    desk = Desk()
    for number in range(MOST_INTERVALS + 1):
        desk.journal.origins.add(SENDER.origin, 2 * number + 10, 1)
    message = SendToQueue("p", "work", 0, make_batch(1))
    assert "too many to remember" in desk.admission.refusal(SENDER, message, NOW)


def test_requests_wait_for_the_journal_and_count_against_the_limit(make_batch):
    desk = Desk(ready=False, submit_limit_bytes=10)
    send = AdmissionRequest(SENDER, SendToQueue("p", "work", 0, make_batch(5)))
    opened = AdmissionRequest(SENDER, OpenSender("p", "work"))
    assert desk.admission.must_wait(send)
    assert desk.admission.must_wait(opened)
    assert desk.admission.waiting == 2
    assert "disk does not keep up" in desk.admission.no_room(1, 1, NOW)
    desk.journal.recovered(LogRead(desk.out[0].token, (), 5), [])
    assert desk.admission.take_waiting() == [send, opened]
    assert desk.admission.no_room(1, 1, NOW) == ""
    assert not desk.admission.must_wait(send)


def test_the_first_sender_of_a_name_is_opened_at_once(make_batch):
    desk = Desk()
    (opened,) = desk.open(7)
    assert opened.message == SenderOpened("p", "work", 0)
    assert desk.admission.owns_name(SENDER, SendToQueue("p", "work", 0, make_batch(1), instance=7))
    assert not desk.admission.owns_name(
        SENDER, SendToQueue("p", "work", 0, make_batch(1), instance=8)
    )


def test_a_take_over_is_durable_before_it_is_told(make_batch):
    desk = Desk()
    desk.open(7)
    desk.journal.origins.add(SENDER.origin, 0, 4)
    (order,) = desk.open(8)
    assert isinstance(order, Persist)
    out = []
    desk.admission.resolved(order.token + 1, None, out)
    assert out == []
    desk.admission.resolved(order.token, None, out)
    assert out[0].message == SenderOpened("p", "work", 4)
    (refused,) = desk.open(7, resumes=True)
    assert refused.message.taken_over


def test_a_take_over_that_the_store_refuses_is_refused():
    desk = Desk()
    desk.open(7)
    desk.journal.origins.add(SENDER.origin, 0, 4)
    (order,) = desk.open(8)
    out = []
    desk.admission.resolved(order.token, PersistFailed(order.token, "full"), out)
    assert out[0].message.problem == "full"


def test_a_refusal_names_the_rows(make_batch):
    desk, out = Desk(), []
    message = SendToQueue("p", "work", 5, make_batch(2))
    desk.admission.refuse(SENDER, message, "why", out, taken_over=True)
    assert out[0].message == SendRefused("p", "work", 5, 2, "why", True)

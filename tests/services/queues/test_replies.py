"""Answers to senders."""

from __future__ import annotations

import pytest

from penstock.core.machine import Priority, Send
from penstock.services.queues.log.append import AppendAnswer
from penstock.services.queues.messages import (
    Decision,
    Forward,
    ForwardRefused,
    HandedOver,
    HandOver,
    Monitor,
    MonitorReport,
    RelayedReply,
    SendReceipt,
    SendRefused,
)
from penstock.services.queues.queue.senders import ClientSender
from penstock.services.queues.replies import answer_client, client_reply, refusal_of
from penstock.services.queues.routing import SendToBroker, SendWithinBroker

SENDER = ClientSender("s", "p", "work")


def test_a_client_gets_a_receipt_or_a_refusal():
    answer = AppendAnswer(SENDER, "producer/p", 5, 3)
    answer.first_position = 9
    assert client_reply(SENDER, answer) == SendReceipt("p", "work", 5, 3, 9)
    answer.failure, answer.uncertain = "sync failed", True
    refused = SendRefused("p", "work", 5, 3, "sync failed", uncertain=True)
    assert client_reply(SENDER, answer) == refused


def test_an_answer_goes_to_the_session_or_to_the_broker_that_has_it():
    receipt, out = SendReceipt("p", "work", 5, 3, 9), []
    answer_client(SENDER, receipt, "b", out)
    answer_client(ClientSender("s", "p", "work", "far"), receipt, "b", out)
    assert out == [
        Send("s", receipt, Priority.CONTROL),
        SendToBroker(RelayedReply("b", "far", "s", receipt)),
    ]


def test_a_destination_that_does_not_exist_refuses(make_rows, make_batch):
    forward = Forward("home", "b", "orders", "work", 1, make_rows(5, 2).frame, 4, 0)
    refused = ForwardRefused("b", "home", "orders", "work", ((5, 7),), "none")
    assert refusal_of(forward, "b", "none", 9) == SendToBroker(refused)
    report = refusal_of(Monitor("home", "b", "orders", "work", 3), "b", "none", 9).message
    assert isinstance(report, MonitorReport)
    assert (report.iteration, report.problem, report.at) == (3, "none", 9)
    hand_over = HandOver("orders", "work", 7, make_batch(2), 4, 0, "producer/p", 40)
    handed = HandedOver("orders", "work", 7, 2, "none")
    assert refusal_of(hand_over, "b", "none", 9) == SendWithinBroker(handed)


@pytest.mark.parametrize("committed", [(), ((1, 2),)])
def test_a_decision_for_a_queue_that_does_not_exist_needs_no_answer(committed):
    decision = Decision("home", "b", "orders", "work", committed, ())
    assert refusal_of(decision, "b", "none", 9) is None

"""What producers send, to queues here and elsewhere."""

from __future__ import annotations

import pytest

from penstock.services.queues.hosted import HostedQueues
from penstock.services.queues.messages import (
    OpenSender,
    RelayedSend,
    SenderOpened,
    SendRefused,
    SendToQueue,
)
from penstock.services.queues.parameters import QueueConfig, QueueParameters
from penstock.services.queues.producers import Producers
from penstock.services.queues.queue.queue import Queue
from penstock.services.queues.queue.senders import ClientSender
from penstock.services.queues.relays import RelayedSends
from penstock.services.queues.routing import Routes

NOW = 10**12


@pytest.fixture
def desk(make_context):
    context = make_context()
    queue = Queue(QueueConfig("work", dead_letter_queue=""), context)
    queue.start(NOW, [])
    hosted = HostedQueues("b", [queue], [])
    routes = Routes("b")
    routes.replace({"east": "east"})
    return Producers(hosted, RelayedSends("b", QueueParameters()), routes)


def handle(desk, message, via=""):
    out = []
    sender = ClientSender("s", message.producer, message.queue, via)
    desk.handle(sender, message, NOW, out)
    return [getattr(each, "message", each) for each in out]


@pytest.mark.parametrize("name", ["work", "work@b"])
def test_rows_for_a_queue_here_are_stored(desk, make_batch, name):
    (order,) = handle(desk, SendToQueue("p", name, 0, make_batch(2)))
    assert order.log == "queue/work"
    assert desk._hosted.next_deadline() is not None


def test_rows_for_another_broker_are_relayed(desk, make_batch):
    message = SendToQueue("p", "work@east", 0, make_batch(2))
    assert handle(desk, message) == [RelayedSend("b", "east", "s", message)]


@pytest.mark.parametrize(
    ("queue", "via", "problem"),
    [
        ("work@far", "", "broker 'far' cannot be reached from 'b'"),
        ("work@east", "home", "broker 'east' cannot be reached from 'b'"),
        ("other", "", "broker 'b' has no queue 'other'; it has work"),
    ],
)
def test_what_cannot_be_sent_is_refused_with_the_reason(desk, make_batch, queue, via, problem):
    (refused,) = handle(desk, SendToQueue("p", queue, 3, make_batch(2)), via)
    reply = refused.reply if via else refused
    assert reply == SendRefused("p", queue, 3, 2, problem)
    (refused,) = handle(desk, OpenSender("p", queue), via)
    reply = refused.reply if via else refused
    assert reply == SenderOpened("p", queue, 0, problem)


def test_an_invalid_request_is_refused(desk, make_batch):
    (refused,) = handle(desk, SendToQueue("p", "work", 0, make_batch(0)))
    assert refused.reason == "there are no messages to send"


def test_a_sender_is_opened(desk):
    assert handle(desk, OpenSender("p", "work")) == [SenderOpened("p", "work", 0)]

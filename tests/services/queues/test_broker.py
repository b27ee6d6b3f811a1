"""The machine of one broker: dispatch, consumers, dead letters, start and restart."""

from __future__ import annotations

import pytest

from penstock.core.clock import SECOND
from penstock.services.queues import messages
from penstock.services.queues.broker import BETWEEN_BROKERS
from penstock.services.queues.messages import (
    Decision,
    Deliver,
    Forward,
    ForwardRefused,
    HandOver,
    Monitor,
    MonitorReport,
    OpenSender,
    Receive,
    Receiving,
    RelayedReply,
    RelayedSend,
    Routed,
    SendReceipt,
    SendToQueue,
    Settle,
    StopReceiving,
)
from penstock.services.queues.parameters import AliasConfig, QueueConfig

WORK = (QueueConfig("work", max_deliveries=1), QueueConfig("small"))
ORDERS = (AliasConfig("orders", ("work@b", "far@away")),)


@pytest.fixture
def network(queue_network):
    return queue_network({"b": (WORK, ORDERS), "east": ((), ())})


def told(network, kind):
    said = network.said(kind)
    network.spoken.clear()
    return said


def test_every_message_between_brokers_has_a_handler(network):
    broker = network.brokers["b"]
    routed = {each for each in vars(messages).values() if isinstance(each, type)}
    routed = {each for each in routed if issubclass(each, Routed) and each is not Routed}
    assert routed | {RelayedSend, RelayedReply} == BETWEEN_BROKERS
    assert broker._between_queues.keys() >= BETWEEN_BROKERS
    assert not BETWEEN_BROKERS & broker._from_clients.keys()


def test_a_message_that_only_queues_may_send_is_ignored_on_a_link(network, make_batch):
    hand_over = HandOver("orders", "work", 1, make_batch(1), 4, 0, "producer/p", 0)
    assert network.brokers["b"].received("client", hand_over, network.now) == []
    assert network.brokers["b"].queues["work"].entries.rows == 0


def test_a_message_for_another_broker_is_passed_on(network):
    decision = Decision("x", "east", "orders", "work", ((1, 2),), ())
    (send,) = network.brokers["b"].received("x", decision, network.now)
    assert (send.link, send.message) == ("east", decision)
    lost = Decision("x", "nowhere", "orders", "work", ((1, 2),), ())
    assert network.brokers["b"].received("x", lost, network.now) == []


def test_a_queue_that_does_not_exist_refuses(network, make_rows):
    forward = Forward("b", "east", "orders", "work", 1, make_rows(5, 2).frame, 4, 0)
    (send,) = network.brokers["east"].received("b", forward, network.now)
    assert isinstance(send.message, ForwardRefused)
    (send,) = network.brokers["east"].received(
        "b", Monitor("b", "east", "orders", "work", 1), network.now
    )
    assert isinstance(send.message, MonitorReport)
    assert "it has none" in send.message.problem


@pytest.mark.parametrize(
    ("queue", "problem"),
    [
        ("orders", "it is write-only; receive from work@b, far@away"),
        ("other", "has no queue 'other'"),
        ("small", "this connection has a consumer 'w' already, of queue 'work'"),
    ],
)
def test_a_consumer_is_refused(network, queue, problem):
    network.client("s", "b", Receive("w", "work@b"))
    assert told(network, Receiving) == [Receiving("w")]
    network.client("s", "b", Receive("w", queue))
    assert problem in told(network, Receiving)[0].problem


def test_a_consumer_that_stopped_may_receive_elsewhere(network):
    network.client("s", "b", Receive("w", "work"))
    network.client("s", "b", StopReceiving("w"))
    network.client("s", "b", Receive("w", "small"))
    assert told(network, Receiving)[-1] == Receiving("w")
    network.client("s", "b", Settle("other", 1))
    network.brokers["b"].session_closed("s", network.now)
    assert len(network.brokers["b"].queues["small"].consumers) == 0


def test_rows_that_fail_go_to_the_dead_letter_queue(network, make_batch):
    network.client("p", "b", SendToQueue("p", "work", 0, make_batch(1)))
    network.client("s", "b", Receive("w", "work", credit=1))
    network.client("s", "b", Settle("w", 1, failed=((1, 2),)))
    network.client("s", "b", Receive("d", "dead-letters", credit=1))
    delivered = told(network, Deliver)[-1]
    (attributes,) = delivered.frame.batch.attribute_rows()
    assert attributes["dead_letter_queue"] == "work"
    assert network.brokers["b"].queues["work"].entries.rows == 0


def test_alias_queues_start_after_the_queues_and_know_what_they_handed_over(network, make_batch):
    for first in range(3):
        network.client("p", "b", SendToQueue("p", "orders", first, make_batch(1, first)))
    network.crash("b")
    network.settle()
    told(network, SendReceipt)
    for first in range(3):
        network.client("p", "b", SendToQueue("p", "orders", first, make_batch(1, first)))
    assert [each.first_position for each in told(network, SendReceipt)] == [0, 0, 0]
    network.client("s", "b", Receive("w", "work", credit=10))
    assert sum(len(each.frame) for each in told(network, Deliver)) == 3


def test_a_relayed_message_is_repeated_when_the_route_changes(network):
    network.lose = lambda source, target, message: isinstance(message, RelayedSend)
    network.client("c", "b", OpenSender("p", "work@east"))
    network.lose = lambda source, target, message: False
    assert len(told(network, RelayedSend)) == 1
    assert network.brokers["b"].next_deadline() is not None
    network.set_reachable("b", "east", reachable=False)
    network.set_reachable("b", "east", reachable=True)
    network.settle()
    assert len(told(network, RelayedReply)) == 1
    network.advance(60 * SECOND)
    assert told(network, RelayedSend) == []
